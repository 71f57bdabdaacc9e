"""Sentences of the layers that know no language, said in the reader's.

The cost model runs without Django, rules are kept in tables, and whoever reads a query answers the
API too: all of them write English. A page says their sentences through `said`, which finds the
phrase that one was made by and makes it again in the reader's language. What no phrase fits, such
as a note of a provider, stays as it stands.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial

from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from catalog import notes, wording

JOINTS = (
    gettext_noop("; "),
    " + ",
    gettext_noop(", "),
)  # between sentences, and between the parts of one
RULE = re.compile(r"rule: (.+?)((?: \(\S+\))?)", re.DOTALL)  # and what it rests on, in brackets
HOLE = re.compile(r"%\\?\((\w+)\\?\)s")

# Holes that are filled with a slug, and what people write for it.
SLUGS: Mapping[str, Callable[[str], str]] = {
    "gpu": wording.gpu,
    "kind": partial(wording.word, "scale_up"),
    "fabric": partial(wording.word, "fabric"),
}
# Holes that are filled with more than one word.
WORDY = frozenset(
    ("choices", "cluster", "job", "known", "model", "near", "problem", "split",
     "terms", "text", "value", "why", "cells", "sites")
)  # fmt: skip

# Rules of the ledger, and of the bundled facts, without what they rest on.
RULES = (
    gettext_noop("18 hosts of 4 GPUs share one NVLink fabric"),
    gettext_noop("24 and 48 GB/s pairs are one and two NVLink 2 links"),
    gettext_noop("8 V100 SXM2 form a hybrid cube mesh"),
    gettext_noop("900 is the both-ways figure of this GPU"),
    gettext_noop("Fabric Manager runs on NVSwitch boards, which carry SXM GPUs"),
    gettext_noop("GPUDirect RDMA is GPUDirect"),
    gettext_noop("GPUDirect RDMA is RDMA"),
    gettext_noop("GPUs with peer access"),
    gettext_noop("Gaudi boards join in the box over their own RoCE ports"),
    gettext_noop("HGX boards carry SXM GPUs"),
    gettext_noop("NICs × rate"),
    gettext_noop("NICs × rate, in dispute"),
    gettext_noop("total ÷ NICs"),
    gettext_noop("total ÷ NICs, in dispute"),
    gettext_noop("NVLink on PCIe cards is a bridge"),
    gettext_noop("OAM boards of the MI300 and MI350 series are full meshes"),
    gettext_noop("S in the name marks SXM, and B200 is sold as SXM"),
    gettext_noop("SHARP is a function of InfiniBand switches"),
    gettext_noop("a NIC of the general VPC network only"),
    gettext_noop("a bridge joins two GPUs"),
    gettext_noop("a mesh link for each of the %(peers)s peers"),
    gettext_noop("a network without RDMA has no GPUDirect RDMA"),
    gettext_noop("a part of an 8-GPU SXM board, joined by its NVSwitch"),
    gettext_noop("a rack that lacks more than two nodes is taken out of use"),
    gettext_noop("all GPUs of the instance share its board's links"),
    gettext_noop("all GPUs of the instance share the board"),
    gettext_noop("all NICs less the GPU NICs"),
    gettext_noop("an 8-GPU SXM board has NVSwitch"),
    gettext_noop("an 8-GPU SXM2 board is a hybrid cube mesh of NVLink"),
    gettext_noop("an 8-accelerator %(vendor)s OAM board links each to each"),
    gettext_noop("AMD's OAM boards link each to each, however many of one are rented"),
    gettext_noop("arithmetic"),
    gettext_noop("both A100 SXM4 have 600 GB/s both ways, halved"),
    gettext_noop("both A100 SXM4 have NVLink 3"),
    gettext_noop("bridge of 600 GB/s both ways, halved"),
    gettext_noop("count follows from the size of the host"),
    gettext_noop("%(fabric)s is an RDMA fabric"),
    gettext_noop("fabric NICs come with the multi-node slugs only"),
    gettext_noop("family statement"),
    gettext_noop("follows from"),
    gettext_noop("form factor of the family, with the name listed"),
    gettext_noop("generation of the card"),
    gettext_noop("%(fabric)s copies into GPU memory over TCP: GPUDirect, not RDMA"),
    gettext_noop("H100 NVL cards are bridged in pairs"),
    gettext_noop("instances on plain Ethernet meet over the front end"),
    gettext_noop("half of the sparse peak (%(value)s)"),
    gettext_noop("half of the sparse %(n)s"),
    gettext_noop("interfaces listed"),
    gettext_noop("no peer access in nvbandwidth"),
    gettext_noop("the rate is in the name"),
    gettext_noop("the technology is in the name"),
    gettext_noop("memory of the name"),
    gettext_noop("name and memory fit one SKU only"),
    gettext_noop("no cluster network is listed"),
    gettext_noop("no links: each GPU is its own domain"),
    gettext_noop("of the V100 only the SXM2 module has NVLink"),
    gettext_noop("offered and priced by the GPU"),
    gettext_noop("one GPU has no peer"),
    gettext_noop("one GPU or less has no peer in its instance"),
    gettext_noop("one card in all sizes of the series"),
    gettext_noop("only 8-GPU presets join an InfiniBand fabric"),
    gettext_noop("only RDMA bare-metal shapes join a RoCE v2 cluster network"),
    gettext_noop("peer rate of PCIe, not of NVLink"),
    gettext_noop("the bridge joins pairs"),
    gettext_noop("the bridged sibling is another type"),
    gettext_noop("the card has no GPU-to-GPU links"),
    gettext_noop("the cluster network is RoCE v2"),
    gettext_noop("the form factor is part of the SKU name"),
    gettext_noop("the instance name says InfiniBand"),
    gettext_noop("the maker of the chip is in its name"),
    gettext_noop("the table names no GPUDirect RDMA for it"),
    gettext_noop("the trays of an NVL72 rack meet in NVSwitches"),
    gettext_noop("the unit that is reserved is a whole NVLink domain"),
    gettext_noop("this card has no link connector"),
    gettext_noop("through NVSwitch any pair has the full rate"),
    gettext_noop("through a switch or a bridge one peer can have all of it"),
)
# Why a cluster is not ranked.
REASONS = (
    gettext_noop("nobody says which GPU it has"),
    gettext_noop("nobody says which GPU it has: one of %(choices)s"),
    gettext_noop("nobody says how many GPUs it has"),
    gettext_noop("the cost model has no figures of %(gpu)s"),
    gettext_noop("its facts contradict each other: %(problem)s"),
    gettext_noop("several of it cannot be had on one fabric"),
    gettext_noop("more than %(n)s GPUs"),
    gettext_noop("its price is for %(n)s GPUs at least"),
    gettext_noop("its price is for %(n)s GPUs at most"),
    gettext_noop("%(gpus)s GPUs need %(nodes)s nodes, and no fabric joins them"),
    gettext_noop("at most %(gpus)s GPUs can be had on one fabric"),
    gettext_noop("the fp64 rate of %(gpu)s is not known"),
    gettext_noop(
        "no split of the job divides over %(gpus)s GPUs: batch %(batch)s, %(layers)s layers, "
        "%(heads)s heads"
    ),
    gettext_noop("no split of the job divides over %(gpus)s GPUs"),
    gettext_noop("it fits on %(below)s or %(above)s GPUs"),
    gettext_noop("it fits on %(gpus)s GPUs"),
    gettext_noop(
        "%(terms)s = %(total)s GB per GPU exceeds the %(memory)s GB of %(gpu)s (the least, with "
        "%(split)s)"
    ),
    gettext_noop("optimizer state %(n)s GB"),
    gettext_noop("gradients %(n)s GB"),
    gettext_noop("context and buffers %(n)s GB"),
    gettext_noop("weights %(n)s GB"),
    gettext_noop("activations %(n)s GB"),
    gettext_noop("gathered layers %(n)s GB"),
    gettext_noop("KV cache %(n)s GB"),
    gettext_noop("logits %(n)s GB"),
    gettext_noop("recompute full"),
    gettext_noop("recompute selective"),
    gettext_noop("the job fits on no count of its GPUs that can be had together"),
    gettext_noop("on %(gpus)s GPUs it is never finished: failures stop it faster than it moves"),
    gettext_noop("takes %(hours)s h on %(gpus)s GPUs, not %(limit)s"),
    gettext_noop("its price is not published"),
    gettext_noop("costs $%(usd)s on %(gpus)s GPUs, not $%(limit)s"),
    gettext_noop("no offer that the filter lets through can be estimated: left_out says why"),
    gettext_noop("no cluster does it: the nearest, %(cluster)s, %(why)s"),
    gettext_noop(
        "this asks for %(work)s searches (%(kinds)s kinds of cluster, %(layouts)s layouts), and "
        "%(most)s are the most of one request: narrow the filter to fewer providers or GPUs, or "
        "fix more of the job."
    ),
)
# What an estimate took for granted, what limits it, and what is odd about it.
ASSUMED = (
    # why a source could not be read
    gettext_noop("%(host)s: the host's name could not be looked up"),
    gettext_noop("%(host)s answers %(status)s"),
    gettext_noop("%(host)s redirects more than %(n)s times"),
    gettext_noop("%(why)s, %(n)s times"),
    gettext_noop("storage, egress and taxes cost more, except for what an offer's price includes"),
    gettext_noop("gpudirect is unknown: assumed yes"),
    gettext_noop("gpudirect is unknown: assumed no"),
    gettext_noop("peer-to-peer over PCIe is unknown: assumed on for this GPU"),
    gettext_noop("peer-to-peer over PCIe is unknown: assumed off for this GPU"),
    gettext_noop(
        "how the GPUs are joined is unknown: assumed %(kind)s, as %(gpu)s is usually built"
    ),
    gettext_noop("fabric is unknown: assumed %(fabric)s"),
    gettext_noop("the fabric's rate is unknown: assumed %(rate)s Gb/s per GPU"),
    gettext_noop("messages are not overlapped with compute"),
    gettext_noop("every sequence has the same context; prompts share the steps"),
    gettext_noop("every sequence has the same context; prompts are read apart"),
    gettext_noop("software: %(software)s; nothing fails, data and checkpoints are free"),
    gettext_noop("experts are loaded unevenly"),
    gettext_noop("%(gpu)s does not compute in %(wanted)s: runs in %(precision)s"),
    gettext_noop("%(idle)s of %(gpus)s GPUs idle: no better split of all"),
    gettext_noop("this GPU or fabric was never measured: the interval is twice as wide"),
    gettext_noop("no layout is within %(ms)s ms a token"),
    gettext_noop("an NVLink bridge joins 2 or 4 GPUs, not %(n)s: taken as 2"),
    gettext_noop("what joins the nodes is unknown: the interval spans Ethernet to NDR"),
    gettext_noop("the fabric's rate is unknown: the interval is wide"),
    gettext_noop("a fact is disputed: the interval spans both claims"),
    gettext_noop("compute"),
    gettext_noop("tensor-parallel communication"),
    gettext_noop("pipeline communication"),
    gettext_noop("pipeline bubble"),
    gettext_noop("data-parallel communication"),
    gettext_noop("expert-parallel communication"),
    gettext_noop("context-parallel communication"),
    gettext_noop("optimizer"),
    gettext_noop("stragglers"),
    gettext_noop("tensor parallel"),
    gettext_noop("data parallel"),
    gettext_noop("context parallel"),
    gettext_noop("expert dispatch"),
    gettext_noop("pipeline"),
    gettext_noop("message"),
)
# What a parameter must be.
MUST_BE = (
    gettext_noop("must be a number like 8 or 2.50, at most 9 digits before the point."),
    gettext_noop("must be true or false."),
    gettext_noop("must be a name of letters, digits and . : ( ) + / - _"),
    gettext_noop("must be at most 200 characters of text."),
    gettext_noop("must be two capital letters, like US or JP."),
    gettext_noop("'%(text)s' is not a provider. There are: %(known)s."),
    gettext_noop("'%(text)s' is not a GPU; near it are %(near)s."),
    gettext_noop("'%(text)s' is not a GPU, nor is any near it."),
    gettext_noop("'%(text)s' is none of: %(choices)s."),
    gettext_noop("must be a date or time like 2026-11-29 or 2026-11-29T12:00Z."),
    gettext_noop("must not be in the future."),
    gettext_noop("is not a cursor of this service."),
    gettext_noop("is given more than once, and takes one value."),
    gettext_noop("is a list with an empty place."),
    gettext_noop("must be a list of at most %(most)s values."),
    gettext_noop("is not a parameter. There are: %(known)s."),
    gettext_noop("is not a parameter. There is none here."),
    gettext_noop("holds a NUL character."),
    gettext_noop("holds bytes that are no text."),
    gettext_noop("must be a whole number from %(low)s to %(high)s."),
    gettext_noop("must be a whole number from %(low)s to %(high)s, or all."),
    gettext_noop("must be from %(low)s to %(high)s, not %(value)s."),
    gettext_noop("must be a whole number, not %(value)s."),
    gettext_noop("must be a number, not %(value)s."),
    gettext_noop("must be one of %(choices)s, not %(value)s."),
    gettext_noop("must be one of %(choices)s."),
    gettext_noop("must be given."),
    gettext_noop("names one field twice."),
    gettext_noop("are what this job has none of: give steps."),
    gettext_noop("are not what serving is measured in: give tokens."),
    gettext_noop("contradicts %(other)s: no offer can pass both."),
    gettext_noop("%(gpus)s is not whole nodes of %(each)s GPUs."),
    gettext_noop("%(code)s has no rate. There are: %(known)s."),
    gettext_noop("has no rate as of %(day)s: its first is of a later day."),
)
# Notes of our own on facts, and the software that a provider states. A provider's words are quotes.
NOTES = (
    gettext_noop("%(n)s links of %(rate)s GB/s one way"),
    gettext_noop("%(n)s printed both ways"),
    gettext_noop("%(n)s GiB as printed"),
    gettext_noop("demonstrated run"),
    gettext_noop("a demonstrated size, not a limit"),
    gettext_noop("a lower bound, not a limit"),
    gettext_noop("no number is given for one fabric"),
    gettext_noop("NVL72: the domain is the rack, not the instance"),
    gettext_noop("not verified"),
    gettext_noop("%(gpus)s GPUs on 1 node at %(bytes)s bytes"),
    gettext_noop("%(gpus)s GPUs on %(nodes)s nodes at %(bytes)s bytes"),
    gettext_noop("drivers: %(state)s"),
    gettext_noop("NCCL plugin: %(state)s"),
    gettext_noop("MPI: %(state)s"),
    gettext_noop("image: %(state)s"),
    gettext_noop("yes"),
    gettext_noop("no"),
    gettext_noop("conditional"),
)
# The titles of the workloads that come with the project.
WORKLOADS = (
    gettext_noop("%(model)s pre-training"),
    gettext_noop("%(model)s pre-training, packed rows of %(n)s"),
    gettext_noop("%(model)s pre-training, a small mixture"),
    gettext_noop("%(model)s serving, %(context)s context"),
    gettext_noop("%(model)s fine-tuning with LoRA"),
    gettext_noop("%(model)s full fine-tuning, small batch"),
    gettext_noop("%(model)s continued training at %(context)s tokens"),
    gettext_noop("Stencil code with halo exchange, %(cells)s cells in %(precision)s"),
    gettext_noop("Spectral code: FFT of %(n)s complex %(precision)s numbers, there and back"),
    gettext_noop("Lattice QCD: one conjugate-gradient step, %(sites)s sites in %(precision)s"),
    gettext_noop("A batch of rendered frames: nothing to say to one another"),
)
PHRASES = (*RULES, *REASONS, *ASSUMED, *MUST_BE, *NOTES, *notes.NOTES, *WORKLOADS)


def said(text: str) -> str:
    """A sentence in the reader's language; as it stands where no phrase fits."""
    return _said(translation.get_language(), text) if text else ""


@lru_cache(maxsize=4096)
def _said(_language: str | None, text: str) -> str:
    if rule := RULE.fullmatch(text):
        return f"{gettext('rule')}{gettext(': ')}{said(rule[1])}{rule[2]}"
    if found := _phrase(text):
        phrase, filled = found
        parts = {
            name: said(part) if len(part) < len(text) else part
            for name, part in _in_words(filled).items()
        }
        return gettext(phrase) % parts if parts else gettext(phrase).replace("%%", "%")
    for joint in JOINTS:
        if joint in text:
            parts_said = [said(part) for part in text.split(joint)]
            whole = joint.join(parts_said)
            return text if whole == text else gettext(joint).join(parts_said)
    return text


def _in_words(filled: Mapping[str, str]) -> Mapping[str, str]:
    """What fills the holes, with slugs as people write them."""
    return {name: SLUGS[name](part) if name in SLUGS else part for name, part in filled.items()}


def _phrase(text: str) -> tuple[str, Mapping[str, str]] | None:
    """The phrase that made a sentence, and what filled its holes."""
    if text in _plain():
        return text, {}
    for phrase, pattern in _patterns():
        if found := pattern.fullmatch(text):
            return phrase, found.groupdict()
    return None


@cache
def _plain() -> frozenset[str]:
    return frozenset(phrase for phrase in PHRASES if "%(" not in phrase)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Phrases with holes, those that say most first: a hole takes as little as it can."""
    holed = (phrase for phrase in PHRASES if "%(" in phrase)
    ordered = sorted(holed, key=lambda phrase: -len(HOLE.sub("", re.escape(phrase))))
    return tuple(
        (phrase, re.compile(HOLE.sub(_hole, re.escape(phrase)), re.DOTALL)) for phrase in ordered
    )


def _hole(found: re.Match[str]) -> str:
    """What may stand in a hole: one word, or anything where its name says several."""
    filled = ".+?" if found[1] in WORDY else r"\S+?"
    return f"(?P<{found[1]}>{filled})"
