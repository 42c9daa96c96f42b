"""How the course's JupyterLab differs from JupyterLab as it comes: closing a page that was only read asks nothing.

`tools/lab.py` and the room's server (`teaching/jupyterhub_config.py`) name this folder in JUPYTER_CONFIG_PATH.
"""

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelspec import KERNEL_NAME, get_kernel_dict
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class Pages(AsyncLargeFileManager):
    """Gives each notebook the metadata that JupyterLab writes into it once Python runs: to it, nothing has changed."""

    async def get(self, path, content=True, **how):
        """The model of a file or folder, as AsyncLargeFileManager has it."""
        model = await super().get(path, content, **how)
        if model["type"] == "notebook" and model["content"]:
            metadata = model["content"]["metadata"]
            if metadata.get("kernelspec", {}).get("name") == KERNEL_NAME:
                spec = get_kernel_dict()
                metadata["kernelspec"] = {name: spec[name] for name in ("display_name", "language")}
                metadata["kernelspec"]["name"] = KERNEL_NAME
                metadata["language_info"] = IPythonKernel.language_info
        return model


c = get_config()  # noqa: F821, Jupyter defines it

c.ServerApp.contents_manager_class = Pages
c.KernelManager.transport_encryption = "auto"  # else each page's Python warns of eavesdropping, on the terminal
c.LanguageServerManager.autodetect = False  # else it lists all those that are not installed
