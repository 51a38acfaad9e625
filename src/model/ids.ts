// Deterministic ids: UUIDv5 over a JSON array whose first element is the kind, so no two tuples collide.
// The vectors in test/model/ids.test.ts are golden: changing one orphans every stored record.
import { hash } from 'node:crypto'

const namespace = Buffer.from('7f1f1d9a0c3b5e4d9c4aa1f3b6c0d2e8', 'hex')

export function jobId(tenant: string, job: string): string {
  return uuidV5(['job', tenant, job])
}

export function taskId(tenant: string, job: string, task: string): string {
  return uuidV5(['task', tenant, job, task])
}

/** The occurrence of a job at a scheduled instant. */
export function scheduledId(tenant: string, job: string, atMs: number): string {
  return uuidV5(['at', tenant, job, atMs])
}

/** The occurrence of a job under a caller's key. `canceled` counts those before it that were canceled before they began. */
export function keyedId(tenant: string, job: string, key: string, canceled = 0): string {
  return uuidV5(canceled === 0 ? ['key', tenant, job, key] : ['key', tenant, job, key, canceled])
}

/** The repetition of an occurrence that one request asks for. */
export function replayId(origin: string, request: string): string {
  return uuidV5(['replay', origin, request])
}

/** The repetition of an instant that one backfill asks for. */
export function fillId(operation: string, tenant: string, job: string, atMs: number): string {
  return uuidV5(['fill', operation, tenant, job, atMs])
}

/** Work that a task run creates. `call`: what its call is known by in every attempt. */
export function childId(taskRun: string, job: string, call: readonly (string | number)[]): string {
  return uuidV5(['child', taskRun, job, ...call])
}

export function taskRunId(occurrence: string, task: string): string {
  return uuidV5(['run', occurrence, task])
}

export function attemptId(taskRun: string, n: number): string {
  return uuidV5(['attempt', taskRun, n])
}

/** The effect under a key: the same for every try of it. */
export function gateId(tenant: string, scope: string, key: string): string {
  return uuidV5(['gate', tenant, scope, key])
}

/** The message about an event of a job. */
export function eventId(tenant: string, type: string, about: readonly (string | number)[]): string {
  return uuidV5(['event', tenant, type, ...about])
}

/** A time-ordered id for what has no key: close to its neighbours in every index. */
export function uuidV7(wallMs: number, random: (bytes: number) => Uint8Array): string {
  timeOrdered.writeUIntBE(wallMs, 0, 6)
  timeOrdered.set(random(10), 6)
  return stamp(timeOrdered, 0x70)
}

const timeOrdered = Buffer.alloc(16)

/** The tenant's place among 4096, by which stores and shards spread work. */
export function slotOf(tenant: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < tenant.length; i++) hash = Math.imul(hash ^ tenant.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % 4096
}

function uuidV5(tuple: readonly (string | number)[]): string {
  return stamp(hash('sha1', Buffer.concat([namespace, Buffer.from(JSON.stringify(tuple))]), 'buffer'), 0x50)
}

function stamp(bytes: Buffer, version: number): string {
  bytes[6] = ((bytes[6] as number) & 0x0f) | version
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  for (let at = 0; at < places.length; at++) {
    const place = places[at] as number
    const byte = bytes[at] as number
    written[place] = digits[byte >>> 4] as number
    written[place + 1] = digits[byte & 0x0f] as number
  }
  return written.toString('latin1')
}

// An id is written in place and read as one text: put together of pieces it would cost several times as much, for every job.
const written = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1')
/** Where each byte of an id stands in its text. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const digits = Buffer.from('0123456789abcdef', 'latin1')
