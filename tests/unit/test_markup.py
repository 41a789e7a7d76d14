"""XML that anybody may have written: no document types, in no encoding and at no place."""

import pytest

from byteatlas.markup import parse_xml

BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]>'


@pytest.mark.parametrize(
    "text",
    [
        f"{BOMB}<a>&c;</a>",
        f'<?xml version="1.0"?>\n<!-- {"x" * 40_000} -->{BOMB}<a/>',
        f'\ufeff<?xml version="1.0" encoding="UTF-16"?>{BOMB}<a/>'.encode("utf-16-le"),
        '<!DOCTYPE a SYSTEM "file:///etc/hostname"><a/>',
        "",
        "text",
        "<a><b></a>",
    ],
    ids=range(7),
)
def test_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"DTDForbidden|not XML"):
        parse_xml(text)


def test_words_of_document_types_may_stand_in_text() -> None:
    assert parse_xml("<a><![CDATA[<!DOCTYPE b>]]></a>").text == "<!DOCTYPE b>"
    assert parse_xml(b"<a x='&lt;!ENTITY'/>").get("x") == "<!ENTITY"
