import { expect, it } from 'vitest'
import { controlsTransaction } from '../../../src/store/postgres/connection/handler-client.ts'

it.each([
  'COMMIT',
  'commit and chain',
  ' Commit;',
  'ROLLBACK',
  'ROLLBACK WORK',
  'rollback and no chain',
  'ABORT',
  'END',
  'BEGIN',
  'begin isolation level serializable',
  'START  TRANSACTION',
  "PREPARE TRANSACTION 'x'",
  'RELEASE SAVEPOINT punctual_work',
  'ROLLBACK TO punctual_work',
  'INSERT INTO a VALUES (1); COMMIT; INSERT INTO a VALUES (2)',
  '/* a */ -- b\n COMMIT',
  "SELECT ';'; END",
])('%s begins or ends a transaction', (text) => {
  expect(controlsTransaction(text)).toBe(true)
})

it.each([
  '',
  'SELECT 1',
  'SAVEPOINT own',
  'ROLLBACK TO own',
  'rollback transaction to savepoint own; RELEASE own',
  'SELECT CASE WHEN true THEN 1 END',
  'SELECT * FROM commit_log; SELECT 1 AS begin_at',
  "INSERT INTO a VALUES ('; COMMIT; ''x; END'), (E'\\'; END'), (e'; ABORT')",
  'SELECT $$; ROLLBACK; $$, $body$; COMMIT; $$; END $body$',
  'SELECT 1 AS "; COMMIT;"',
  'SELECT 1 -- ; COMMIT\n/* ; ROLLBACK */',
  'SELECT $1::text, $2; SELECT 2',
])('%s does not', (text) => {
  expect(controlsTransaction(text)).toBe(false)
})
