#!/usr/bin/env python3
"""Asks ClickHouse, as a library (Build/FetchEngines.sh --clickhouse), for
ParquetSupport.py.

usage: AskClickHouse.py LIBRARY <REQUEST >ANSWER

The request is a JSON list of statements; the answer has the rows of each, or
an error.  Numbers of 64 bits are numbers.
"""

import ctypes
import json
import sys

SETTINGS = ("set output_format_json_quote_64bit_integers = 0, "
            "output_format_json_quote_denormals = 0")


def main():
    library = ctypes.CDLL(sys.argv[1])
    for name, result, arguments in (
            ('chdb_connect', ctypes.POINTER(ctypes.c_void_p),
             [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]),
            ('chdb_query', ctypes.c_void_p,
             [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]),
            ('chdb_result_buffer', ctypes.c_void_p, [ctypes.c_void_p]),
            ('chdb_result_length', ctypes.c_size_t, [ctypes.c_void_p]),
            ('chdb_result_error', ctypes.c_char_p, [ctypes.c_void_p])):
        routine = getattr(library, name)
        routine.restype, routine.argtypes = result, arguments
    connection = library.chdb_connect(
        1, (ctypes.c_char_p * 1)(b'clickhouse'))[0]

    def ask(statement):
        result = library.chdb_query(connection, statement.encode(),
                                    b'JSONCompact')
        error = library.chdb_result_error(result)
        if error:
            return {'error': error.decode('utf-8', 'replace')}
        text = ctypes.string_at(library.chdb_result_buffer(result),
                                library.chdb_result_length(result))
        return {'rows': json.loads(text)['data'] if text else []}

    ask(SETTINGS)
    json.dump([ask(statement) for statement in json.load(sys.stdin)],
              sys.stdout)


if __name__ == '__main__':
    main()
