import type { VNode } from 'preact'
import { Dialog } from '../part/dialog.tsx'
import { overlay } from './keys.ts'
import { mainPages, morePages } from './pages.ts'

const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    'Everywhere',
    [
      ['Ctrl K', 'search or jump'],
      ['/', 'filter'],
      ['h', 'hold the page still, go on'],
      ['?', 'this sheet'],
    ],
  ],
  [
    'Lists',
    [
      ['j k', 'down, up'],
      ['x', 'select'],
      ['Enter', 'open'],
    ],
  ],
  [
    'A job, an occurrence',
    [
      ['t', 'trigger'],
      ['p', 'pause or resume'],
      ['e', 'edit the schedule'],
      ['r', 'retry or replay'],
    ],
  ],
  [
    'Timeline',
    [
      ['[ ]', 'earlier, later'],
      ['- +', 'zoom'],
      ['.', 'back to now'],
    ],
  ],
  ['Pages', [...mainPages, ...morePages].map((page) => [`g ${page.key}`, page.title] as const)],
]

export function KeySheet(): VNode {
  const close = () => {
    overlay.value = null
  }
  return (
    <Dialog title="Keys" onClose={close} onSubmit={close} foot={null}>
      <div class="key-groups">
        {groups.map(([name, keys]) => (
          <section key={name}>
            <h3 class="dim">{name}</h3>
            <dl>
              {keys.map(([key, text]) => (
                <div class="row between" key={key}>
                  <dt>{text}</dt>
                  <dd class="row gap-1">
                    {key.split(' ').map((one) => (
                      <kbd key={one}>{one}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
