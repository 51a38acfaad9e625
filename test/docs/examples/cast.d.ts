// Names that the examples of the pages use without declaring them: names that an earlier example imports, and the application around them.
import type { PoolClient as Client, Pool } from 'pg'
import type { Context, DeadLetterGroup, Definition, JobView, Punctual, Schedule, Store } from 'punctual'
import type { Broker } from 'punctual/timers'

declare global {
  // The library.
  const createPunctual: typeof import('punctual').createPunctual
  const defineJob: typeof import('punctual').defineJob
  const cron: typeof import('punctual').cron
  const interval: typeof import('punctual').interval
  const rrule: typeof import('punctual').rrule
  const registerSchedule: typeof import('punctual').registerSchedule
  const memory: typeof import('punctual/memory').memory
  const createHandler: typeof import('punctual/http').createHandler
  const toNodeHandler: typeof import('punctual/http').toNodeHandler
  const createPublisher: typeof import('punctual/timers').createPublisher
  const manualClock: typeof import('punctual/testing').manualClock
  const runJob: typeof import('punctual/testing').runJob
  const z: typeof import('zod').z
  const test: typeof import('vitest').test
  const expect: typeof import('vitest').expect

  // The scheduler, its jobs and what was read from it.
  const punctual: Punctual
  const store: Store
  const broker: Broker
  const ctx: Context
  const jobs: Definition[]
  const report: Definition<undefined, undefined, { build: string }>
  const remind: Definition<{ order: number }>
  const paymentTimeout: Definition<{ order: number }>
  const charge: Definition<{ order: number }, { order: number }, { pay: string }>
  const invoice: Definition<{ customer: string }>
  const render: Definition<{ order: number }>
  const index: Definition<{ doc: { id: string } }>
  const nudge: Definition<{ customer: string }>
  const call: Definition<{ number: string }>
  const job: JobView
  const worst: DeadLetterGroup
  const nightly: Schedule
  const id: string
  const occurrenceId: string

  // The application.
  type Order = { customer: string }
  type Payment = { card: { number: string; cvc: string; holder: string } }
  type PoolClient = Client
  class FullMoon implements Schedule {
    constructor(phase: unknown)
  }
  interface FullMoon extends Schedule {}
  const pool: Pool
  const schedule: Schedule
  const signal: AbortSignal
  const customer: string
  const doc: { id: string }
  const amount: number
  const payload: { number: string }
  const app: any
  const handler: any
  const authenticate: any
  const provider: any
  const mail: any
  const kysely: any
  const drizzle: any
  const prisma: any
  const orders: any
  function sendReminder(order: number): Promise<void>
  function sendInvoice(): Promise<void>
  function sendMail(): Promise<void>
  function renderInvoice(): Promise<void>
  function pingAll(): Promise<void>
  function expireOrder(order: number): Promise<void>
  function chargeCard(amount: number): Promise<{ id: string }>
  function readWeather(): Promise<{ degrees: number }>
  function readNews(): Promise<readonly string[]>
  function renderPage(weather: { degrees: number }, news: readonly string[]): string
  function syncShop(shop: string): Promise<void>
  function book(event: unknown): Promise<void>
  function userOf(cookie: string | null): { email: string; isAdmin: boolean } | null
}
