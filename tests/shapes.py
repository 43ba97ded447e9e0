"""How signatures are checked while the tests run: by beartype, for which a whole number is a float too."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
