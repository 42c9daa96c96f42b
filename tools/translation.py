"""What a Chinese cell must have in common with its English one, and how Chinese is set beside Latin letters."""

import re
from collections import Counter

from glossary import CHINESE, pattern, terms
from markdown_it import MarkdownIt

MARKDOWN = MarkdownIt("commonmark").enable("table")
NOTE = re.compile(r"^> 译注：.*\n?", re.MULTILINE)  # for Chinese readers only; compared with nothing
NUMBER = re.compile(r"(?<!\bL)\d+(?:[.,]\d+)*")  # an L1 or L2 cache has no number
MONTHS = {"June": "6", "November": "11", "December": "12"}  # Chinese writes months in figures
# Where no term is meant: code, tags, addresses, and a package's name.
NO_PROSE = re.compile(r"```.*?```|`[^`\n]*`|<code>.*?</code>|<[^>]*>|\]\([^)]*\)|https?://\S+|Kernel Tuner", re.DOTALL)
HAN = "\u4e00-\u9fff"
RETIRED = {  # words that Chinese books on CUDA do not use, as regular expressions: what they use
    "测时(?!间)": "计时",
    "判词": "判定",
    "累加和": "累加器",
    "屏障不一致|屏障分歧": "屏障处线程分化",
    "合并的核函数": "合并访存的核函数",
    "保存的时间": "存档的计时结果",
    "由缓存(?:满足|答复)": "在缓存中命中",
    "主内存": "全局内存",
    "笔记本": "notebook",
    "最近的缓存|[一二三]级缓存": "L1 缓存、L2 缓存",  # 级 is a rung
    "(?<!寄存器)(?<![上下])溢出": "寄存器溢出",
    "存档的时间": "存档的计时结果",
    "屋脊点": "脊点",
    "柱子|条形": "横条",
    "盖[住掉]": "覆盖",
    "卡住速率": "限制速率",
    "发表": "公布",
    "通道应答": "通道处理",
    "遮住(?!了)|不用遮": "掩码",
    "梯子": "阶梯",
    "牢笼": "沙箱",
    "帐号": "账号",
    "产品资料": "数据手册",
    "矩阵乘积": "矩阵乘法",
    "难分高下|未分胜负|先后未定": "分不出高下",
    "评语": "判定",
    "顺序": "次序",
    "[xy]`? 数(?:的是|行|列)": "对应",
    "流水线级": "流水线阶段",  # 级 is a rung
    "限制(?:并不在|换成|(?:就|还)?是)": "瓶颈",  # what a kernel is slow by; the verb stays
    "看时钟|由时钟|时钟(?:开始走|的读数|会把)": "计时",  # a clock is a GPU's, with its cycles
    "(?<!中的)第 \\d 步": "第 N 部分",  # of a kernel; a step is one of k's
    "机器代码": "机器码",
    "柱状图": "横条图",
    "转过来(?:存放|暂存)": "转置",
    "(?<!矩阵)(?<!分块)大小为 \\d": "矩阵大小为",
    "小组数": "两组数",
    "整个的": "完整的",
}


def facts(text):
    """{what: what of it the text has, in order or as a Counter}: all that translating changes nothing of."""
    blocks, found = [], {what: Counter() for what in ("code", "link", "emphasis", "tag", "number")}

    def numbers(words):
        for month, figure in MONTHS.items():
            words = words.replace(month, f" {figure} ")
        found["number"].update(NUMBER.findall(words))

    for token in MARKDOWN.parse(text):
        if token.nesting == 1 or token.type in ("fence", "code_block"):
            blocks.append((token.type, token.tag, token.content))
        elif token.type == "html_block":
            blocks.append((token.type, "", ""))
            found["code"].update(re.findall(r"<code>(.*?)</code>", token.content, re.DOTALL))
            found["tag"].update(re.findall(r"<[^>]+>", token.content))
            numbers(re.sub(r"<code>.*?</code>|<[^>]+>", " ", token.content, flags=re.DOTALL))
        for part in token.children or ():
            if part.type == "code_inline":
                found["code"][part.content] += 1
            elif part.type in ("link_open", "image"):
                found["link"][part.attrGet("href") or part.attrGet("src")] += 1
            elif part.type in ("strong_open", "em_open"):
                found["emphasis"][part.tag] += 1
            elif part.type == "html_inline":
                found["tag"][part.content] += 1
        numbers(" ".join(part.content for part in token.children or () if part.type == "text"))
    return {"block": blocks, "formula": Counter(re.findall(r"\$[^$\n]+\$", text)), **found}


def differences(english, chinese, comment=""):
    """What the Chinese cell lacks or has too much of, a line each.

    `comment`: the translator's, in the file; "not a term: core, stack" says which words mean something else here.
    """
    ours, theirs = facts(english), facts(NOTE.sub("", chinese))
    for what, there in ours.items():
        here = theirs[what]
        if what == "block" and here != there:
            yield f"not the same headings, paragraphs, lists and tables: {shape(there)} in English, {shape(here)} here"
        elif here != there:  # Counters
            lost, extra = (
                ", ".join(map(repr, (one - other).elements())) for one, other in ((there, here), (here, there))
            )
            yield f"{what}s differ" + f"; missing: {lost}" * bool(lost) + f"; only here: {extra}" * bool(extra)
    words = {anchor: word for word, anchor in terms(CHINESE).items()}
    excused = re.findall(r"not a term: (.*)", comment)
    for term, anchor in used(english).items():
        if words[anchor] not in chinese.lower() and term not in ", ".join(excused).split(", "):
            yield f"{term!r} is {words[anchor]!r} in the glossary"


def shape(blocks):
    """The blocks of a cell, as one can compare them by eye."""
    return " ".join(tag or kind for kind, tag, _ in blocks)


def used(english):
    """{term: its anchor} of the glossary's terms in the English text."""
    found = (match["term"].lower() for match in pattern().finditer(NO_PROSE.sub(" ", english)))
    return {term: terms()[term] for term in found}


def manners(chinese):
    """What is against the usage of Chinese print, a line each."""
    text = re.sub(r"\]\([^)]*\)|<[^>]+>", " ", chinese.replace("*", ""))
    for found in re.finditer(rf"[{HAN}][A-Za-z0-9`$]|[A-Za-z0-9`$%][{HAN}]", text):
        yield f"a space is missing in {around(text, found)}"
    for old, new in RETIRED.items():
        for found in re.finditer(old, text):
            yield f"{new} is the usual word in {around(text, found)}"
    for found in re.finditer(r"\d %", NO_PROSE.sub("``", text)):
        yield f"a space too many in {around(found.string, found)}"
    for found in re.finditer(rf"[{HAN}][,;:?!.()]", text):
        yield f"Chinese punctuation is missing in {around(text, found)}"
    for found in re.finditer(rf"[{HAN}，。；：、？！）”]\n[{HAN}（“]", text):
        yield f"a line break, which shows as a space, in {around(text, found)}"
    stray = [part.content for token in MARKDOWN.parse(chinese) for part in token.children or () if part.type == "text"]
    for words in stray:
        if "**" in words:
            yield f"asterisks that Markdown takes for no emphasis, in {words[:40]!r}; a space beside them helps"


def around(text, found):
    """The place in the text, with a few characters on both sides."""
    return repr(text[max(found.start() - 8, 0) : found.end() + 8])
