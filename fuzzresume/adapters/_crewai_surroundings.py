"""The variables under which CrewAI opens no connection, asks nothing, and writes nothing into the user's home. It reads them
while it is imported, so this module, which sets them, has to come first.
"""

import os
import tempfile

PLACE = os.path.join(tempfile.gettempdir(), f"fuzzresume-crewai-{os.getuid()}")
"""Where CrewAI keeps settings and a key of its own, which it makes at every import."""

os.environ.update(
    {
        "CREWAI_DISABLE_TELEMETRY": "true",
        "CREWAI_DISABLE_TRACKING": "true",
        "CREWAI_DISABLE_VERSION_CHECK": "true",
        "CREWAI_STORAGE_DIR": PLACE,
        "CREWAI_TESTING": "true",
        "CREWAI_TRACING_ENABLED": "false",
        "HOME": PLACE,
        "OTEL_SDK_DISABLED": "true",
    }
)
