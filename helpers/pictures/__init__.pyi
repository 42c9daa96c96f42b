# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .charts import executed_chart as executed_chart
from .charts import growth_chart as growth_chart
from .charts import ladder_chart as ladder_chart
from .charts import picture_landscape as picture_landscape
from .charts import picture_units as picture_units
from .charts import roofline as roofline
from .drawing import Picture as Picture
from .films import Film as Film
from .films import film as film
from .indices import picture_fragments as picture_fragments
from .indices import picture_program as picture_program
from .indices import picture_rungs as picture_rungs
from .indices import picture_summa as picture_summa
from .sources import show as show
from .sources import show_changes as show_changes
from .traced import picture_addresses as picture_addresses
from .traced import picture_owners as picture_owners
from .traced import picture_share as picture_share
from .traced import picture_stages as picture_stages
