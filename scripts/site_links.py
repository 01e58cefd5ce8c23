"""Hook of mkdocs.yml: README.md is the site's first page, and links to files beside
docs/ lead to the repository."""
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


def on_files(files, config):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
    folder = "" if source == "index.md" else posixpath.join("docs", posixpath.dirname(source))

    def lead(match):
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        inside = posixpath.relpath(path, "docs")
        if path == "README.md":
            inside = "index.md"
        if files.get_file_from_path(inside):
            return posixpath.relpath(inside, posixpath.dirname(source)) + (match[2] or "")
        return f"{config.repo_url}/blob/main/{path}{match[2] or ''}"

    return LINK.sub(lead, markdown)
