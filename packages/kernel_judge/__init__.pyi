# What this package offers, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .findings import Drawn as Drawn
from .findings import Finding as Finding
from .findings import Kind as Kind
from .function import Function as Function
from .moves import examine as examine
from .moves import judge as judge
from .product import Product as Product
from .product import Seen as Seen
from .product import Wrong as Wrong
from .reference import error_bound as error_bound
from .reference import held as held
from .reference import wrong_elements as wrong_elements
from .report import Report as Report
from .words import set_language as set_language
