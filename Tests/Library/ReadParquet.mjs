// Reads Parquet files with programs from outside this project
// (Build/FetchEngines.sh), for ParquetSupport.py.
//
// usage: node ReadParquet.mjs ENGINES hyparquet|footer|duckdb <REQUEST >ANSWER
//
// hyparquet, and with the first rows alone footer: the request is a JSON list of files; the answer has, of each, the
// columns, the rows and what the footer says, or an error.
// duckdb: a JSON list of statements; the answer has their rows, or an error.

import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [engines, engine] = process.argv.slice(2)
const requests = JSON.parse(fs.readFileSync(0, 'utf8'))
const answers = []

function plain(value) {
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  }
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (Array.isArray(value)) return value.map(plain)
  if (value !== null && typeof value === 'object') {
    if (value.items) return value.items.map(plain)
    if (value.micros !== undefined) return String(value.micros)
    return Object.fromEntries(Object.entries(value).map(
      ([name, each]) => [name, plain(each)]))
  }
  return value
}

if (engine !== 'duckdb') {
  const module = path.join(engines, 'node_modules/hyparquet/src/node.js')
  const { asyncBufferFromFile, parquetMetadataAsync, parquetRead } =
    await import(pathToFileURL(module))
  for (const name of requests) {
    try {
      const file = await asyncBufferFromFile(name)
      const metadata = await parquetMetadataAsync(file)
      const rows = []
      const rowEnd = engine === 'footer'
        ? Math.min(10, Number(metadata.num_rows)) : undefined
      await parquetRead({ file, metadata, rowEnd, onComplete: some => {
        for (const row of some) rows.push(row)
      } })
      answers.push(plain({
        columns: metadata.schema.slice(1).filter(
          each => each.name !== 'list' && each.name !== 'element').map(
          each => each.name),
        rows,
        number: metadata.num_rows,
        by: metadata.created_by,
        groups: metadata.row_groups.map(group => ({
          rows: group.num_rows,
          columns: group.columns.map(column => ({
            ...column.meta_data }))
        }))
      }))
    } catch (error) {
      answers.push({ error: String(error) })
    }
  }
} else {
  const require = createRequire(path.join(engines, 'x.js'))
  const { DuckDBInstance } = require('@duckdb/node-api')
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  for (const statement of requests) {
    try {
      const reader = await connection.runAndReadAll(statement)
      answers.push({ rows: plain(reader.getRows()) })
    } catch (error) {
      answers.push({ error: String(error) })
    }
  }
}

process.stdout.write(JSON.stringify(answers))
