# Each target makes or updates the environment first; without make: python3 -m attn_edu TARGET
PYTHON ?= python3
ARGS ?=

.PHONY: lab test notebooks bench lock
lab test notebooks bench lock:
	$(PYTHON) -m attn_edu $@ $(ARGS)
