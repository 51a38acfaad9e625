import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPunctual, type Punctual } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { punctual } from './punctual-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'punctual-effects-'))
const file = join(folder, 'work.db')
const env = { PUNCTUAL_STORE: `sqlite:${file}` }
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function client(): Punctual {
  return createPunctual({ store: sqlite(file), log: silent })
}

beforeAll(async () => {
  await using own = client()
  for (const key of ['order-1', 'order-2'])
    await own
      .once('charge', key, () => {
        throw Object.assign(new Error('no answer'), { outcome: 'unknown' })
      })
      .catch(() => {})
  await own.once('mail', 'order-1', () => 'sent')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(...args: string[]) {
  const { code, stdout, stderr } = await punctual(args, { env })
  return { code, stdout, stderr }
}

describe('BL-6 punctual gate', () => {
  test('lists the keys whose outcome nobody knows', async () => {
    const { stdout } = await run('gate', 'list', '--state', 'unknown')
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toMatchObject([
      ['TENANT', 'SCOPE', 'KEY', 'STATE', 'RESERVED', 'TRIES', 'HITS', 'REASON'],
      ['default', 'charge', 'order-1', 'unknown', expect.any(String), '1', '0', 'no answer'],
      ['default', 'charge', 'order-2', 'unknown', expect.any(String), '1', '0', 'no answer'],
      [''],
    ])
    const { items } = JSON.parse((await run('gate', 'list', '--scope', 'mail', '--json')).stdout)
    expect(items).toMatchObject([{ key: 'order-1', state: 'done', result: 'sent' }])
  })

  test('resolves one as happened with its outcome, and one as not happened', async () => {
    expect(await run('gate', 'resolve', 'charge', 'order-1', '--happened', '--result', '"ch_1"', '--yes')).toEqual({
      code: 0,
      stdout: 'resolved order-1 of charge as happened\n',
      stderr: '',
    })
    expect((await run('gate', 'resolve', 'charge', 'order-2', '--no-happened', '--yes')).code).toBe(0)
    await using own = client()
    expect(await own.once('charge', 'order-1', () => 'again')).toBe('ch_1')
    expect(await own.once('charge', 'order-2', () => 'again')).toBe('again')
  })

  test.each([
    [['gate', 'resolve', 'charge', 'order-1', '--happened', '--yes'], 1, /known already/],
    [['gate', 'resolve', 'charge', 'order-9', '--happened', '--yes'], 1, /no key "order-9"/],
    [['gate', 'resolve', 'charge', 'order-1'], 1, /--happened or --no-happened/],
  ])('refuses %j', async (args, code, message) => {
    const finished = await run(...args)
    expect(finished.stderr).toMatch(message)
    expect(finished.code).toBeGreaterThanOrEqual(code)
  })
})

describe('JS-7 punctual delete and prune', () => {
  test('delete a record by id, and all that is older', async () => {
    await using own = client()
    const [one, other] = [await own.enqueue('mail', undefined), await own.enqueue('mail', undefined)]
    expect(await run('delete', one.id, '--yes')).toMatchObject({ code: 1, stderr: expect.stringMatching(/cancel it first/) })
    for (const { id } of [one, other]) await own.cancel(id)
    expect(await run('delete', one.id, '--by', 'ada', '--yes')).toMatchObject({ code: 0, stdout: 'deleted\n' })
    expect((await run('delete', one.id, '--yes')).code).toBe(1)
    expect(JSON.parse((await run('prune', '--older-than', '0s', '--json', '--yes')).stdout)).toEqual({ pruned: 1 })
    expect((await run('prune')).code).toBe(2)
    expect((await run('prune', '--older-than', 'long', '--yes')).code).toBe(1)
    const { items } = await own.audit({ order: 'oldest' })
    expect(items.slice(-2).map(({ action, target }) => [action, target])).toEqual([
      ['delete', one.id],
      ['prune', ''],
    ])
  })
})
