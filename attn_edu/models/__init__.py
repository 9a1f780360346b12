"""Models: the Transformer, language models, and the readers that others are compared with."""

from attn_edu.models.baselines import (
    READERS,
    RECURRENT,
    Attending,
    Convolutional,
    Recurrent,
    SequenceClassifier,
    count_parameters,
    make_reader,
    matched_width,
)
from attn_edu.models.block import TransformerBlock
from attn_edu.models.feedforward import FeedForward, GatedFeedForward
from attn_edu.models.language import LanguageModel, RecurrentLanguageModel
from attn_edu.models.ngram import NGram
from attn_edu.models.transformer import (
    TransformerDecoder,
    TransformerEncoder,
    TransformerStack,
)
from attn_edu.models.translator import RecurrentTranslator, Translator

__all__ = [
    "READERS",
    "RECURRENT",
    "Attending",
    "Convolutional",
    "FeedForward",
    "GatedFeedForward",
    "LanguageModel",
    "NGram",
    "Recurrent",
    "RecurrentLanguageModel",
    "RecurrentTranslator",
    "SequenceClassifier",
    "TransformerBlock",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerStack",
    "Translator",
    "count_parameters",
    "make_reader",
    "matched_width",
]
