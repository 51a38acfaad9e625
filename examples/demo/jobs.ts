// The jobs that `npm start` runs. A jobs file exports what defineJob returns and, where there is something to prepare, setup.
// While it runs, open the printed address, or try the printed curl lines. What is kept in .punctual/demo.db outlives a restart,
// and what fell due while nothing ran is run at the next start.
import { setTimeout as pause } from 'node:timers/promises'
import { cron, defineJob, interval, type Punctual } from 'punctual'

// The smallest job: one task that runs every five seconds. Returning is success, and what is returned is recorded.
export const heartbeat = defineJob('heartbeat', { schedule: interval('PT5S') }).task('beat', () => 'still here')

// Three tasks that need each other: `after` makes them a graph. Weather and news run at the same time; page waits for both
// and gets their results. Press Ctrl-C in the middle and start again: what heard its signal loses no attempt, and a task that has
// finished is not run twice.
export const frontPage = defineJob('front-page', { schedule: interval('20s'), mode: 'graph' })
  .task('weather', async ({ signal }) => {
    await pause(300, null, { signal })
    return { sky: 'clear', degrees: 7 }
  })
  .task('news', async ({ signal, progress }) => {
    progress(0.5, 'half of the sources read')
    await pause(600, null, { signal })
    return ['Ships arrive on time', 'Clock tower repaired']
  })
  .task(
    'page',
    { after: ['weather', 'news'] },
    ({ results }) => `${results.news.length} stories under a ${results.weather.sky} sky`,
  )

// Fails two times out of three. A failed attempt gives its place away and comes back later: the retry is a record in the
// store, so that it survives a restart. The third attempt of each occurrence succeeds.
export const flaky = defineJob('flaky', { schedule: interval('PT30S'), retry: { max: 3, interval: '2s', factor: 2 } }).task(
  'call',
  ({ attempt, fail }) => {
    if (attempt < 3) fail(`no answer at attempt ${attempt}`)
    return `answered at attempt ${attempt}`
  },
)

// Work for one entity at a time of its own. It has no schedule: order, below, creates one for each order.
export const paymentTimeout = defineJob<{ order: string }>('payment-timeout').task(
  'expire',
  ({ payload }) => `${payload.order} was not paid in time`,
)

// Called once the scheduler has started. Here it hands the scheduler to order, below; a program of your own has it at hand.
const scheduler = Promise.withResolvers<Punctual>()
export function setup(punctual: Punctual): void {
  scheduler.resolve(punctual)
}

// One occurrence creates another: this places an order, and its payment may take ten seconds. The key makes it one
// timeout for an order, however often it is asked for and also after it has run.
export const order = defineJob('order', { schedule: interval('PT15S') }).task('place', async ({ scheduledAt }) => {
  const number = `order-${Math.floor(scheduledAt.getTime() / 1000)}`
  const punctual = await scheduler.promise
  await punctual.enqueue(paymentTimeout, { order: number }, { idempotencyKey: number, entity: number, delay: '10s' })
  return number
})

// Once a day at a quarter past noon in Warsaw, summer and winter. `punctual trigger currency-rates` runs it now.
export const currencyRates = defineJob('currency-rates', { schedule: cron('15 12 * * *', { timezone: 'Europe/Warsaw' }) }).task(
  'fetch',
  () => ({
    EUR: 1,
    PLN: 4.25,
  }),
)
