import type { VNode } from 'preact'
import { useLocation } from 'preact-iso'
import type { WireJob } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { countText } from '../../data/count.ts'
import { dueOf, occurrenceMark, workOf } from '../../data/marks.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { State } from '../../part/glyph.tsx'
import { useCursor } from '../../part/list-keys.ts'
import { reasonText } from '../../part/message.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { Two } from '../../part/time.tsx'
import { duration } from '../../time/duration.ts'

const shown = 10

export function JobRuns({ job }: { job: WireJob }): VNode {
  const { route } = useLocation()
  const runs = useQuery({
    key: ['occurrences', 'of', job.tenant, job.name],
    read: (signal) => api.occurrences({ ...workOf(job), job: job.name, limit: shown }, signal),
    keepsLast: true,
  })
  const items = runs.data?.items ?? []
  const at = useCursor(items.length, (index) => items[index] && route(pagePath(`occurrences/${items[index].id}`)))
  const total = Object.values(job.counts).reduce((sum, count) => sum + count, 0)
  return (
    <section class="card" aria-label="Occurrences">
      <header>
        <h2>Occurrences</h2>
        <div class="end">
          <a class="link" href={pagePath('occurrences', { job: job.name, ...workOf(job) })}>
            All {countText(total)}
          </a>
        </div>
      </header>
      <Loaded query={runs}>
        {(page) =>
          page.items.length === 0 ? (
            <Empty title="It has not run yet.">Its runs appear here, the newest first.</Empty>
          ) : (
            <table class="tbl tight cards">
              <thead>
                <tr>
                  <th>Due</th>
                  <th>State</th>
                  <th>Source</th>
                  <th class="num">Took</th>
                  <th>Note</th>
                </tr>
              </thead>
              <tbody>
                {page.items.map((line, index) => (
                  <tr key={line.id} class={index === at ? 'cur' : ''}>
                    <td class="nw grow">
                      <a href={pagePath(`occurrences/${line.id}`)}>
                        <Two at={dueOf(line)} zone={job.schedule?.timezone} />
                      </a>
                    </td>
                    <td class="nw">
                      <State mark={occurrenceMark(line)} />
                    </td>
                    <td class="dim nw hide">{line.source}</td>
                    <td class="num nw">{line.tookMs === null ? '—' : duration(line.tookMs)}</td>
                    <td class="dim full ell note-cell">
                      {line.error?.message ?? (line.reason ? reasonText(line.reason) : (line.key ?? ''))}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </section>
  )
}
