# Each target makes or updates the environment first; without make: python3 -m attn_edu TARGET
PYTHON ?= python3
ARGS ?=
# PRETRAINED=1 installs the packages with the weights of real models too
PRETRAINED ?=
WEIGHTS = $(if $(filter-out 0 no off,$(PRETRAINED)),--pretrained)

.PHONY: lab test notebooks bench lock
lab test notebooks bench lock:
	$(PYTHON) -m attn_edu $@ $(WEIGHTS) $(ARGS)
