"""Messages of every packing decode to what ecCodes read from them when they were made; it is not needed here."""

from __future__ import annotations

import json
from hashlib import sha256

from tests.places import FIXTURES

from byteatlas.codecs.grib import fields


def test_values_are_those_that_eccodes_read() -> None:
    whole = (FIXTURES / "grib" / "packings.grib").read_bytes()
    facts = json.loads((FIXTURES / "grib" / "packings.json").read_text())
    assert sum(fact["length"] for fact in facts) == len(whole)
    wrong, place = [], 0
    for fact in facts:
        data = whole[place : place + fact["length"]]
        place += fact["length"]
        found = fields.message(data)
        values = fields.values(data, found.edition, found.fields[0], 496)
        if sha256(values.astype("<f8").tobytes()).hexdigest() != fact["values"]:
            wrong.append(fact["name"])
    assert wrong == []
