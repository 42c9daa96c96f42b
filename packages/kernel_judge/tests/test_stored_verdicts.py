"""Notebooks of others are read as data, whatever stands in them."""

from html.parser import HTMLParser

import pytest

from kernel_judge import stored

GOOD = '<img src="data:image/webp;base64,AAAA" alt="1 &amp; 2"'
# Outputs that somebody wrote by hand, and what is left of them.
HOSTILE = {
    "a script": ({"data": {"text/html": "<script>1</script>", "text/plain": "<script>"}}, "<pre>&lt;script&gt;</pre>"),
    "text": ({"text": ["</pre><img src=x onerror=1>", "b\n"]}, "<pre>&lt;/pre&gt;&lt;img src=x onerror=1&gt;b</pre>"),
    "an error": ({"output_type": "error", "ename": "<b>", "evalue": '"'}, "<pre>&lt;b&gt;: &quot;</pre>"),
    "a picture": (
        {"data": {"image/png": 'AA" onload="1', "text/plain": '" onload="'}},
        '<img srcset="data:image/png;base64,AAonload=1 2x" alt="&quot; onload=&quot;">',
    ),
    "a drawing": ({"data": {"image/svg+xml": "<svg onload='1'/>"}}, "<pre></pre>"),
    "a film": (
        {"data": {"text/html": f'<figure>{GOOD} onload="1"><img src="http://x.org" alt="">', "text/plain": "film"}},
        '<div class="film" tabindex="0"><img srcset="data:image/webp;base64,AAAA 2x" alt="1 &amp; 2"></div>',
    ),
    "odd ones": ({"data": [1], "text": 7}, "<pre>7</pre>"),
    "unseen signs": ({"text": "a\u202eb\udce9\x1b"}, r"<pre>a\u202eb\udce9\x1b</pre>"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_of_outputs_only_text_and_pictures_are_left(case):
    output, left = HOSTILE[case]
    assert stored.html_of([output]) == left
    tags = Tags()
    tags.feed(left)
    assert {name for name, _ in tags.found} <= {"pre", "div", "img"}
    assert {key for _, attributes in tags.found for key in attributes} <= {"srcset", "alt", "class", "tabindex"}


class Tags(HTMLParser):
    """Finds what a browser would: (name, attributes) of each element."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_a_large_file_is_not_read(tmp_path):
    path = tmp_path / "a.ipynb"
    with open(path, "wb") as file:
        file.truncate(2_000_000_000)  # a hole, which takes no room on the disk
    with pytest.raises(stored.Refused, match=r"^a file of 2000 MB: clear its outputs and save it again$"):
        next(stored.own_cells(path, {}, "# "))


def test_text_of_others_steers_no_terminal():
    said = "\x1b]0;gone\x07\x9b31m\r\n\t\u202eevil\u2066\u200b\u2028\udce9\0"
    assert stored.plain(said) == r"\x1b]0;gone\x07\x9b31m\r\n\t\u202eevil\u2066\u200b\u2028\udce9\x00"
    assert stored.plain("王小明 größer, ✓ = 1") == "王小明 größer, ✓ = 1"
    assert len(stored.plain("x" * 10**6)) == stored.LONGEST and stored.plain("x" * 2000).endswith("x…")
