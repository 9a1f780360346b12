# Each target makes or updates the environment first; without make: python3 -m attn_edu TARGET
PYTHON ?= python3
ARGS ?=
# PRETRAINED=1 installs the packages with the weights of real models too
PRETRAINED ?=
WEIGHTS = $(if $(filter-out 0 no off,$(PRETRAINED)),--pretrained)

# make assign CHAPTERS="02 03", then make grade
CHAPTERS ?=
DIR ?= assignments

.PHONY: lab test notebooks assign grade bench lock site colab-check
lab test notebooks bench lock site colab-check:
	$(PYTHON) -m attn_edu $@ $(WEIGHTS) $(ARGS)

assign:
	$(PYTHON) -m attn_edu assign $(CHAPTERS) --out "$(DIR)" $(ARGS)

grade:
	$(PYTHON) -m attn_edu grade "$(DIR)" $(ARGS)
