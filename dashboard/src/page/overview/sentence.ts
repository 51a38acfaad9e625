import type { WireOverview } from '../../../../src/http/wire.ts'
import { causeText } from '../../data/cause.ts'
import { counted } from '../../data/count.ts'
import type { Mark } from '../../part/mark.ts'
import { lateness } from '../../time/duration.ts'
import { timeText } from '../../time/zoned.ts'

export interface SentencePart {
  readonly text: string
  readonly isStrong: boolean
}

export interface Sentence {
  readonly mark: Mark
  readonly parts: readonly SentencePart[]
}

const strong = (text: string): SentencePart => ({ text, isStrong: true })
const plain = (text: string): SentencePart => ({ text, isStrong: false })

/** The state of everything in words: the worst first, names before counts, each job counted once. */
export function sentence(overview: WireOverview, zone: string): Sentence {
  const { jobs, late, failed, attention, paused, health, running, now } = overview
  const parts: SentencePart[] = []
  const marks: Mark[] = []
  if (running.beating === 0) {
    parts.push(strong('No node runs.'), plain(' Nothing starts until one does. '))
    marks.push('late')
  } else if (health.state === 'degraded') {
    parts.push(strong('This node is degraded:'), plain(` ${health.reasons[0] ?? 'the store does not answer'}. `))
    marks.push('late')
  }
  if (paused) parts.push(strong('Everything is paused.'), plain(' '))
  const worst = attention.find(({ failing }) => failing)
  const kept = attention.find(({ kind }) => kind === 'dead')
  if (worst) {
    const since = worst.firstAt === null ? '' : ` since ${timeText(Date.parse(worst.firstAt), zone, Date.parse(now))}`
    const times = worst.count > 1 ? `, ${counted(worst.count, 'time')}${since}` : ''
    parts.push(strong(`${worst.job ?? 'Work'} is failing:`), plain(` ${short(causeText(worst))}${times}. `))
    marks.push('dead')
    const more = jobs.failing - 1
    if (more > 0) parts.push(plain(`${counted(more, 'more job fails', 'more jobs fail')}. `))
  } else if (kept) {
    const wait = failed.dead === 1 ? 'waits' : 'wait'
    const causes = failed.causes > 1 ? `, ${failed.causes} causes` : ''
    parts.push(
      strong(`${counted(failed.dead, 'dead letter')} ${wait} for you:`),
      plain(` ${short(causeText(kept))} in ${kept.job}${causes}. `),
    )
    marks.push('dead')
  }
  if (late.oldest) {
    const by = lateness(Date.parse(now) - Date.parse(late.oldest.dueAt))
    parts.push(
      strong(`${late.oldest.name} is ${by} late.`),
      plain(late.jobs > 1 ? ` ${counted(late.jobs - 1, 'more job is late', 'more jobs are late')}. ` : ' '),
    )
    marks.push('late')
  }
  const missed = attention.find(({ kind }) => kind === 'missed')
  if (missed) {
    const at = missed.firstAt === null ? 'a run' : timeText(Date.parse(missed.firstAt), zone, Date.parse(now))
    parts.push(strong(`${missed.job} missed ${missed.count > 1 ? counted(missed.count, 'run') : at}.`), plain(' '))
    marks.push('missed')
  }
  parts.push(...calm(jobs, parts.length === 0))
  return { mark: marks[0] ?? 'completed', parts }
}

function calm(jobs: WireOverview['jobs'], isAll: boolean): SentencePart[] {
  const rest = [resting(jobs.paused, 'paused'), resting(jobs.disabled, 'disabled'), resting(jobs.orphaned, 'orphaned')].filter(
    Boolean,
  )
  const tail = rest.length > 0 ? `, ${rest.join(', ')}` : ''
  if (isAll && jobs.onTime === jobs.total)
    return [strong(jobs.total === 1 ? 'Your job is on time.' : `All ${jobs.total} jobs are on time.`)]
  return [plain(`${counted(jobs.onTime, 'job is', 'jobs are')} on time${tail}.`)]
}

function resting(count: number, word: string): string {
  return count === 0 ? '' : `${count}\u00a0${count === 1 ? 'is' : 'are'}\u00a0${word}`
}

function short(text: string): string {
  return text.length > 90 ? `${text.slice(0, 88)}…` : text
}
