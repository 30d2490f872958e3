"""A package with a module that trains when it is run by `python -m package.train`."""
