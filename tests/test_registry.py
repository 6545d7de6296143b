"""Registries: built-in names are imported when used, other packages add theirs, and mistakes are said in one line."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from kgdx.errors import ConfigError, UsageError
from kgdx.registry import Registry

GROUP = "kgdx.test_registry"


def registry(**builtin: str) -> Registry[object]:
    return Registry("widget", GROUP, {"fraction": "fractions:Fraction", **builtin})


def install(folder: Path, package: str, *lines: str) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("\n".join((f"[{GROUP}]", *lines)), encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_built_in_name_is_its_class_without_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("scanned"))
    assert registry().get("fraction") is Fraction


def test_a_module_is_imported_when_its_class_is_used(site: Path) -> None:
    (site / "kgdx_lazy_widget.py").write_text("class Widget: ...\n", encoding="utf-8")
    widgets = registry(lazy="kgdx_lazy_widget:Widget")
    assert list(widgets) == ["fraction", "lazy"] and "lazy" in widgets
    assert "kgdx_lazy_widget" not in sys.modules
    assert widgets.get("lazy") is sys.modules.pop("kgdx_lazy_widget").Widget


def test_an_installed_package_adds_its_class(site: Path) -> None:
    widgets = registry()
    install(site, "decimal-widgets", "decimal = decimal:Decimal")
    assert widgets.get("decimal").__name__ == "Decimal"
    assert widgets.names() == ("decimal", "fraction")


def test_an_unknown_name_lists_the_known_ones(site: Path) -> None:
    install(site, "decimal-widgets", "decimal = decimal:Decimal")
    with pytest.raises(UsageError, match=r"^no widget 'x': one of decimal, fraction$"):
        registry().get("x")
    assert "x" not in registry()


def test_two_packages_of_one_name_are_an_error(site: Path) -> None:
    install(site, "one", "decimal = decimal:Decimal")
    install(site, "two", "decimal = fractions:Fraction")
    with pytest.raises(ConfigError, match="(one and two|two and one) both have a widget named decimal: uninstall one"):
        registry().get("decimal")


def test_a_package_cannot_take_a_built_in_name(site: Path) -> None:
    install(site, "one", "fraction = decimal:Decimal")
    with pytest.raises(ConfigError, match="kgdx and one both have a widget named fraction"):
        registry().names()


def test_a_package_that_cannot_be_imported_is_named(site: Path) -> None:
    install(site, "broken", "x = kgdx_no_such_module:Widget", "y = math:pi")
    with pytest.raises(ConfigError, match=r"the widget x of broken cannot be imported \(ModuleNotFoundError: .*mend"):
        registry().get("x")
    with pytest.raises(ConfigError, match="the widget y of broken is no class: let its entry point"):
        registry().get("y")
