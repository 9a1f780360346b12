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
from attn_edu.models.pointer import Pointer
from attn_edu.models.readers import (
    SENTENCE_READERS,
    AttentionPooling,
    SentenceClassifier,
    WordWeights,
)
from attn_edu.models.tagger import TAGGERS, Tagger, tag_loss
from attn_edu.models.transformer import (
    TransformerDecoder,
    TransformerEncoder,
    TransformerStack,
)
from attn_edu.models.translator import RecurrentTranslator, Translator

__all__ = [
    "READERS",
    "RECURRENT",
    "SENTENCE_READERS",
    "TAGGERS",
    "Attending",
    "AttentionPooling",
    "Convolutional",
    "FeedForward",
    "GatedFeedForward",
    "LanguageModel",
    "NGram",
    "Pointer",
    "Recurrent",
    "RecurrentLanguageModel",
    "RecurrentTranslator",
    "SentenceClassifier",
    "SequenceClassifier",
    "Tagger",
    "TransformerBlock",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerStack",
    "Translator",
    "WordWeights",
    "count_parameters",
    "make_reader",
    "matched_width",
    "tag_loss",
]
