// The work that keeps the billing true without anybody. The five ticks look for rows that are due, so a tick that was lost costs
// nothing: the next one finds the same rows.
import { type Context, cron, defineJob } from 'punctual'
import { applyEffects, downgrade, freeze, markPaid, openInvoices, type Run, renew } from './books.ts'
import { type Rule, run, type Transaction } from './database.ts'
import type { Provider } from './provider.ts'

export interface BillingSettings {
  readonly provider: Pick<Provider, 'isPaid'>
  readonly now: () => number
  /** Called between two steps: tests end the process there. */
  readonly after?: (step: string) => void
}

export function billingJobs({ provider, now, after = () => {} }: BillingSettings) {
  const options = { schedule: cron('*/15 * * * *'), retry: { max: 3 } }

  /** Applies rules in one commit with the success of the task, and with a row of the audit for each change. */
  const book = async (ctx: Pick<Context, 'audit' | 'transaction'>, step: string, ...rules: ((run: Run) => Rule)[]) => {
    after(`${step} begun`)
    const note: Run['note'] = (event, refs) => {
      ctx.audit(event, refs)
      after(`${step} written`)
    }
    const changes = await ctx.transaction((tx: Transaction) => run(tx, inTurn(rules, { now: now(), note })))
    after(`${step} committed`)
    return changes
  }
  const tick = (name: string, rule: (run: Run) => Rule) => defineJob(name, options, (ctx) => book(ctx, name, rule))

  const renewal = tick('subscription.renewal_tick', renew)
  const graceExpiry = tick('subscription.grace_expiry_tick', freeze)
  const downgrades = tick('branch.plan_downgrade_effective_tick', downgrade)
  const effectRecovery = tick('invoice.effect_recovery_tick', applyEffects)

  /** For lost webhooks: queries the provider about every open invoice. */
  const reconcile = defineJob('payment.reconcile_invoices_tick', options)
    .task('find', ({ transaction }) => transaction((tx: Transaction) => run(tx, openInvoices())))
    .task('ask', async ({ results }) => {
      const answers = await Promise.all(results.find.map((id) => provider.isPaid(id)))
      after('reconcile asked')
      return results.find.filter((_, at) => answers[at])
    })
    .task('book', (ctx) => book(ctx, 'reconcile', (run) => markPaid(run, ctx.results.ask)))

  /** Of a webhook: the invoice is paid, and its effect follows at once. */
  const payment = defineJob<{ invoice: string }>('payment.received', { retry: { max: 10 } }, (ctx) =>
    book(ctx, 'payment', (run) => markPaid(run, [ctx.payload.invoice]), applyEffects),
  )

  return { renewal, graceExpiry, downgrades, reconcile, effectRecovery, payment }
}

function* inTurn(rules: readonly ((run: Run) => Rule)[], given: Run): Rule {
  let changes = 0
  for (const rule of rules) changes += yield* rule(given)
  return changes
}
