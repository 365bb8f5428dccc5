"""Parquet files, as programs from outside this project read them.

hyparquet gives the rows and what the footer says; DuckDB and ClickHouse answer
SQL.
"""

import json
import os
import subprocess
import sys

import StoreSupport as support
from StoreSupport import programs

SCRIPT = os.path.join(programs.ROOT, 'Tests', 'Library', 'ReadParquet.mjs')
CLICKHOUSE = os.path.join(programs.ROOT, 'Tests', 'Library',
                          'AskClickHouse.py')
TABLES = 'calls', 'functions', 'marks'


def ask(command, requests, cwd=None):
    done = subprocess.run(command, input=json.dumps(requests).encode(),
                          stdout=subprocess.PIPE, check=True, cwd=cwd,
                          env={**os.environ, 'TZ': 'UTC'})
    return json.loads(done.stdout)


class Engines:
    """What Build/FetchEngines.sh has got; has_duckdb says whether that is
    there, has_any whether anything is."""

    def __init__(self):
        code, text = programs.run([os.path.join(programs.ROOT, 'Build',
                                                'FetchEngines.sh')])
        self.folder = text.strip()
        self.has_any = code in (0, 2)
        self.has_duckdb = code == 0

    def _ask(self, engine, requests, cwd=None):
        return ask(['node', SCRIPT, self.folder, engine], requests, cwd)

    def read(self, *paths, all_rows=True):
        """A Table of each file, or one with its first rows alone."""
        return [Table(answer) for answer in self._ask(
            'hyparquet' if all_rows else 'footer', paths)]

    def sql(self, *statements, cwd=None):
        """The rows of each statement, or a text: the error."""
        return [answer.get('error') or answer['rows']
                for answer in self._ask('duckdb', statements, cwd)]


class ClickHouse:
    """has_any says whether it is there: it is large, and so is fetched for the
    long form alone, and used in the other one if it has been."""

    def __init__(self):
        command = [os.path.join(programs.ROOT, 'Build', 'FetchEngines.sh'),
                   '--clickhouse']
        self.library = os.path.join(
            programs.ROOT, 'x64', 'Engines', 'node_modules', '@chdb',
            'lib-linux-x64-gnu', 'libchdb.so')
        self.has_any = os.path.exists(self.library) or (
            programs.LONG and programs.run(command)[0] == 0)

    def sql(self, *statements, cwd=None):
        """As Engines.sql; a file's path is relative to cwd."""
        return [answer.get('error') or answer['rows'] for answer in ask(
            [sys.executable, CLICKHOUSE, self.library], statements, cwd)]


class Table:
    """A file as hyparquet reads it."""

    def __init__(self, answer):
        self.error = answer.get('error')
        self.columns = answer.get('columns', [])
        self.rows = [dict(zip(self.columns, row))
                     for row in answer.get('rows', [])]
        self.number = answer.get('number')
        self.groups = answer.get('groups', [])

    def wrong_statistics(self):
        """Where a row group's smallest and largest values, its encodings or
        sizes are not those of its rows."""
        wrong, first = [], 0
        for number, group in enumerate(self.groups):
            rows = self.rows[first:first + group['rows']]
            first += group['rows']
            for each in group['columns']:
                name = each['path_in_schema'][0]
                said = each.get('statistics')
                if len(each['path_in_schema']) > 1:
                    continue
                values = [row[name] for row in rows]
                if isinstance(values[0], str) and name != 'begun':
                    values.sort(key=str.encode)
                else:
                    values.sort()
                found = (said.get('min_value'), said.get('max_value'),
                         said.get('null_count'))
                if found != (values[0], values[-1], 0) and (
                        found[:2] != (None, None) or
                        len(max(values, key=len).encode()) <= 64):
                    wrong.append((number, name, found, values[0], values[-1]))
        if first != len(self.rows) or first != self.number:
            wrong.append((first, len(self.rows), self.number))
        return wrong


class Exporter:
    """export --format parquet on one session."""

    def __init__(self, results, engines, scratch):
        self.results, self.engines = results, engines
        self.scratch, self.number = scratch, 0

    def export(self, session, *arguments, code=0):
        """(table -> paths of its files, what was said)."""
        self.number += 1
        folder = os.path.join(self.scratch, 'parquet-%d' % self.number)
        os.makedirs(folder)
        found, text, errors = support.reader(
            'export', '--format', 'parquet', '-o', programs.windows_path(
                os.path.join(folder, 'out.parquet')), *arguments,
            programs.windows_path(session))
        names = sorted(os.listdir(folder), key=lambda name: (len(name), name))
        self.results.check(
            found == code and text == '' and
            not any(name.endswith('.tmp') for name in names),
            'export parquet %s' % (arguments,), [found, text, errors, names])
        files = {}
        for name in names:
            files.setdefault(name.split('.')[1].split('-')[0], []).append(
                os.path.join(folder, name))
        return files, errors

    def append(self, dataset, session, *arguments, code=0):
        found, text, errors = support.reader(
            'export', '--format', 'parquet', '--append',
            programs.windows_path(dataset), *arguments,
            programs.windows_path(session))
        self.results.check(found == code and text == '',
                           'export --append %s' % (arguments,),
                           [found, text, errors])
        return errors


def files(dataset):
    """All files below a folder, relative to it."""
    return sorted(os.path.relpath(os.path.join(folder, name), dataset)
                  for folder, _, names in os.walk(dataset) for name in names)
