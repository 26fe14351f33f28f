"""Backends that come with exactla, one package each; see `exactla.backend` for the contract."""
