import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aesCodec, createPunctual, cron, defineJob, type Punctual } from '../../src/index.ts'
import { memory } from '../../src/store/memory/index.ts'
import { sealed } from '../../src/store/sealed.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import { storeSuite } from '../../src/testing/store-suite.ts'

const keys = { old: randomBytes(32), new: randomBytes(32).toString('base64') }
const codec = aesCodec({ current: 'old', keys: { old: keys.old } })
const rotated = aesCodec({ current: 'new', keys })

describe('the store suite on a sealed store', () => {
  const cases = storeSuite({
    name: 'sealed',
    open: async (env) => {
      const store = sealed(memory(), codec)
      await store.open(env)
      return store
    },
    lacks: { tx: 'memory', join: 'memory', durable: 'memory', 'many-processes': 'memory' },
  })
  for (const { title, skip, run } of cases) it.skipIf(skip !== null)(title, run)
})

const secret = 'hunter-2-hunter-2'
const pay = defineJob('pay', { retry: { max: 0 } }, ({ payload, progress, log }) => {
  log.info('paying', { card: (payload as { card: string }).card })
  progress(0.5, `about ${(payload as { card: string }).card}`)
  if ((payload as { fail?: boolean }).fail) throw new Error(`refused ${(payload as { card: string }).card}`)
  return { receipt: (payload as { card: string }).card }
})
const daily = defineJob('daily', {}, () => {})

describe('JS-11 a codec', () => {
  it('keeps payloads, results, errors, progress and log lines out of the store, and the work runs as ever', async () => {
    const store = memory()
    const punctual = createPunctual({ store, jobs: [pay], codec })
    await punctual.start()
    const paid = await punctual.enqueue(pay, { card: secret })
    expect(await paid.result()).toEqual({ receipt: secret })
    const failed = await punctual.enqueue(pay, { card: secret, fail: true })
    await expect(failed.result()).rejects.toMatchObject({ cause: { message: `refused ${secret}` } })
    expect(await punctual.get(failed.id)).toMatchObject({ payload: { card: secret }, progress: { message: `about ${secret}` } })
    expect((await punctual.get(paid.id))?.log[0]?.lines[0]).toMatchObject({ message: 'paying', fields: { card: secret } })
    for (const { id } of [paid, failed]) {
      const text = JSON.stringify(await store.get({ id }))
      expect(text).toContain('sealed.1.old.')
      expect(text).not.toContain('hunter')
    }
    expect(JSON.stringify((await store.list({ limit: 10 })).items)).not.toContain('hunter')
    expect((await punctual.deadLetters({ groupBy: 'cause' }))[0]?.label).toBe('refused #')
    await punctual.close()
  })

  it('compares what a payload says, also after a rotation, and an unchanged schedule writes nothing', async () => {
    const store = sqlite(':memory:')
    const before = createPunctual({ store, jobs: [pay, daily], codec })
    const holder = createPunctual({ store, jobs: [], codec })
    await holder.counts()
    const options = { payload: { card: secret } }
    await before.schedule(daily, cron('0 3 * * *'), options)
    await before.enqueue(pay, { card: secret }, { key: 'k', delay: '1h' })
    expect(await before.schedule(daily, cron('0 3 * * *'), options)).toMatchObject({ outcome: 'unchanged' })
    expect(await before.enqueue(pay, { card: secret }, { key: 'k' })).toMatchObject({
      outcome: 'existing',
      payloadDiffers: false,
    })
    const after = createPunctual({ store, jobs: [pay, daily], codec: rotated })
    expect(await after.schedule(daily, cron('0 3 * * *'), options)).toMatchObject({ outcome: 'unchanged' })
    expect(await after.enqueue(pay, { card: secret }, { key: 'k' })).toMatchObject({ outcome: 'existing', payloadDiffers: false })
    expect(await after.enqueue(pay, { card: 'other' }, { key: 'k' })).toMatchObject({ payloadDiffers: true })
    for (const one of [after, before, holder]) await one.close()
  })

  it('keeps outcomes, reasons and payloads of effects out of the store, also after a rotation', async () => {
    const store = memory()
    const [before, after, keyless] = [codec, rotated, null].map((one) =>
      createPunctual({ store, jobs: [], log: silent, ...(one && { codec: one }) }),
    ) as [Punctual, Punctual, Punctual]
    const stored = async () => JSON.stringify((await store.gate({ act: 'list', limit: 10 })).items)
    const options = { payload: { card: secret } }
    await before.once('charge', 'a', () => secret, options)
    const lost = () => Promise.reject(Object.assign(new Error(`no answer for ${secret}`), { outcome: 'unknown' }))
    await expect(before.once('charge', 'b', lost, options)).rejects.toThrow(secret)
    expect(await stored()).not.toContain('hunter')
    const hash = createHash('sha256').update(JSON.stringify(options.payload)).digest('base64url')
    expect(await stored()).not.toContain(hash)
    expect((await after.gates({ state: 'unknown' })).items).toMatchObject([{ key: 'b', reason: `no answer for ${secret}` }])
    expect((await keyless.gates()).items).toMatchObject([
      { key: 'a', result: null, reason: expect.stringContaining('"old"') },
      { key: 'b', result: null, reason: expect.stringContaining('"old"') },
    ])
    await before.resolveGate({ scope: 'charge', key: 'b' }, { happened: true, result: secret })
    expect(await stored()).not.toContain('hunter')
    for (const key of ['a', 'b']) {
      expect(await after.once('charge', key, () => 'again', options)).toBe(secret)
      const other = after.once('charge', key, () => 'again', { payload: { card: 'other' } })
      await expect(other).rejects.toMatchObject({ code: 'gate.conflict' })
    }
    await expect(keyless.once('charge', 'a', () => 'again')).rejects.toMatchObject({
      code: 'codec.key-missing',
      details: { keyId: 'old' },
    })
  })

  it('an overridden job that is declared again writes nothing after a rotation', async () => {
    const store = memory()
    const [before, after] = [codec, rotated].map((one) => createPunctual({ store, jobs: [daily], codec: one })) as [
      Punctual,
      Punctual,
    ]
    const declare = (punctual: Punctual) => punctual.schedule(daily, cron('0 3 * * *'), { payload: { card: secret } })
    await declare(before)
    await before.update('daily', { payload: { card: 'another' } })
    const [known] = await store.readJobs({ limit: 1 })
    expect(await declare(after)).toMatchObject({ outcome: 'unchanged' })
    expect((await store.readJobs({ limit: 1 }))[0]).toEqual(known)
  })

  it('without the key, or with a wrong one, the record is kept and the error names the key', async () => {
    const store = memory()
    const punctual = createPunctual({ store, jobs: [], codec })
    const { id } = await punctual.enqueue('pay', { card: secret })
    const wrong = aesCodec({ current: 'old', keys: { old: randomBytes(32) } })
    for (const lacking of [{}, { codec: wrong }]) {
      const other = createPunctual({ store, jobs: [pay], log: silent, ...lacking })
      await expect(other.get(id)).rejects.toMatchObject({ code: 'codec.key-missing', details: { keyId: 'old' } })
    }
    const node = createPunctual({ store, jobs: [pay], codec: wrong, log: silent })
    await node.runDue()
    expect((await punctual.list()).items).toMatchObject([
      { id, state: 'dead', error: { message: expect.stringContaining('"old"') } },
    ])
    await punctual.retry(id)
    const able = createPunctual({ store, jobs: [pay], codec: rotated, log: silent })
    await able.runDue()
    expect(await able.result(id)).toEqual({ receipt: secret })
  })

  it('refuses keys that are no keys', () => {
    const refused = (options: unknown) =>
      expect(() => aesCodec(options as never)).toThrow(expect.objectContaining({ code: 'option.invalid' }))
    refused({ current: 'a', keys: { a: 'short' } })
    refused({ current: 'b', keys: { a: randomBytes(32) } })
    refused({ current: 'a b', keys: { 'a b': randomBytes(32) } })
    expect(() => createPunctual({ store: memory(), codec: {} as never })).toThrow('codec')
  })

  it('seals every text differently, and equal ones equally', () => {
    const sealedOnce = codec.seal('{"card":1}')
    expect(codec.seal('{"card":1}')).toBe(sealedOnce)
    expect(codec.seal('{"card":2}').slice(0, 40)).not.toBe(sealedOnce.slice(0, 40))
    expect(rotated.open(sealedOnce)).toBe('{"card":1}')
    expect(codec.open(`${sealedOnce.slice(0, -2)}AA`)).toBe(null)
    expect(codec.open('plain')).toBe('plain')
  })
})

const silent = { debug() {}, info() {}, warn() {}, error() {} }
