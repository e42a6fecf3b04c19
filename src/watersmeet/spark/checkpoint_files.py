"""Files of a checkpoint on a local disk, made without starting a process for each.

Hadoop sets the permissions of every file it makes on a local disk by running `chmod`, for its checksum once
more: of three streams 14 processes per batch, most of them while nothing else can go on. Java can set them
itself. So where all of Spark runs in one process, a class of a few lines takes the place of Spark's file
manager: it writes the same files. Spark's own compiler of Java makes it when a session runs its first join.

Where that cannot be done, and where somebody has chosen another file manager, all stays as it was.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from watersmeet.spark.connect import is_connected
from watersmeet.spark.master import is_local
from watersmeet.spark.settings import FILE_BASED, FILE_MANAGER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("watersmeet")

_PACKAGE, _, _PARENT = FILE_BASED.rpartition(".")
_NAME = "WatersmeetLocalCheckpointFiles"
_CLASS = f"{_PACKAGE}.{_NAME}"
_SOURCE = f"""
package {_PACKAGE};

import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class {_NAME} extends {_PARENT} {{
    private final LocalFileSystem quick;

    public {_NAME}(Path path, Configuration settings) throws java.io.IOException {{
        super(path, settings);
        quick = new LocalFileSystem(new Disk());
        quick.initialize(java.net.URI.create("file:///"), settings);
    }}

    public FSDataOutputStream createTempFile(Path path) throws java.io.IOException {{
        // Whoever has chosen another way to write to local disks keeps it.
        boolean usual = fs() instanceof LocalFileSystem && fs().getConf().get("fs.file.impl") == null;
        return usual ? quick.create(path, true) : super.createTempFile(path);
    }}

    public static class Disk extends RawLocalFileSystem {{
        public void setPermission(Path path, FsPermission wanted) throws java.io.IOException {{
            Files.setPosixFilePermissions(
                pathToFile(path).toPath(), PosixFilePermissions.fromString(wanted.toString()));
        }}
    }}
}}
"""


def quick_checkpoint_files(spark: SparkSession) -> None:
    """Have checkpoints of a session on this machine written without `chmod`."""
    if is_connected(spark) or os.name != "posix" or not is_local(str(spark.sparkContext.master)):
        return
    if spark.conf.get(FILE_MANAGER, "") != FILE_BASED:
        return
    try:
        _make(spark._jvm)  # noqa: SLF001
    except (Py4JError, TypeError):
        # It costs speed, not results. What py4j does not find is a package, which cannot be called.
        logger.debug("checkpoints are written with chmod", exc_info=True)
        return
    spark.conf.set(FILE_MANAGER, _CLASS)


def _make(java: Any) -> None:
    """Make the class, unless an earlier session has, beside the one that it extends."""
    parent = java.java.lang.Class.forName(FILE_BASED)
    loader = parent.getClassLoader()
    try:
        loader.loadClass(_CLASS)
    except Py4JError:
        compiler = java.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(loader)
        compiler.cook(_SOURCE)
        handles = java.java.lang.invoke.MethodHandles
        beside = handles.privateLookupIn(parent, handles.lookup())
        made = compiler.getBytecodes()
        # The inner class first, since the other needs it.
        for name in sorted(made, reverse=True):
            beside.defineClass(made[name])
