"""What tests ask of a page: that it is whole, needs nothing else, and what a
person reads on it."""

import re
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def faults(text):
    """Why the page is not whole, or needs something else; none: it is, and does
    not."""
    found = []
    try:
        tree = xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError as error:
        return [f"not well-formed: {error}"]
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    if len(ids) != len(set(ids)):
        found.append("an id is there twice")
    for element in tree.iter():
        name = element.tag.replace(SVG, "")
        if name in ("script", "link", "iframe", "img", "object", "embed", "base"):
            found.append(f"<{name}>")
        if name == "meta" and element.get("http-equiv"):
            found.append("a page that goes elsewhere")
        for key, value in element.attrib.items():
            if key.startswith("on"):
                found.append(f"a script in {key}")
            if key in ("src", "action", "data", "poster") or (
                    key.endswith("href") and value[1:] not in ids):
                found.append(f"{key}={value}")
    for word in ("@import", "javascript:"):
        if word in text:
            found.append(word)
    # The name of SVG is no address.
    bare = text.replace("http://www.w3.org/2000/svg", "")
    style = "".join(e.text or "" for e in tree.iter("style"))
    found += [f"url({where}" for where in re.findall(r"url\(([^)]*)", style)
              if where[0] != "#" or where[1:] not in ids]
    if "url(" in bare.replace(style, ""):
        found.append("url( outside of the style")
    # A picture has words for whoever does not see it.
    for svg in tree.iter(SVG + "svg"):
        hidden = svg.get("aria-hidden") == "true"
        if not hidden and not (svg.get("role") == "img" and svg.get("aria-label")):
            found.append("a picture without words")
    return found


class Page:
    """A page that is whole."""

    def __init__(self, text):
        assert not faults(text), faults(text)
        self.tree = xml.etree.ElementTree.fromstring(text)
        self.style = "".join(e.text or "" for e in self.tree.iter("style"))
        self.text = " ".join("".join(self.tree.find("body").itertext()).split())

    def tables(self, kind=None):
        """Rows of cells, as text, of every table of that class."""
        return [[[" ".join("".join(cell.itertext()).split()) for cell in row]
                 for row in table.iter("tr")]
                for table in self.tree.iter("table")
                if kind is None or table.get("class") == kind]

    def pictures(self, kind):
        return [e for e in self.tree.iter(SVG + "svg") if e.get("class") == kind]

    def maps(self):
        """{first row of a cell: its letters} of every map in characters."""
        return [{int(line.split(maxsplit=1)[0]): line[10:]
                 for line in (pre.text or "").splitlines()}
                for pre in self.tree.iter("pre") if pre.get("class") == "map"]


def named(parent, tag, kind):
    return [e for e in parent.iter(SVG + tag) if e.get("class") == kind]
