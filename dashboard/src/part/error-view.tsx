import type { VNode } from 'preact'
import type { WireAttempt } from '../../../src/http/wire.ts'
import { counted } from '../data/count.ts'
import { Copy } from './command.tsx'
import { Glyph } from './glyph.tsx'

type WireError = NonNullable<WireAttempt['error']>

/** An error with its stack and what caused it. Frames of libraries are dimmed. */
export function ErrorCard({ error, where }: { error: WireError; where: string }): VNode {
  return (
    <section class="card err" aria-label="Error">
      <header>
        <Glyph mark="failed" />
        <h2 class="mono wrap-any">{title(error)}</h2>
        <div class="end">
          <span class="dim nw only-desk">{where}</span>
          <Copy text={error.stack ?? title(error)} />
        </div>
      </header>
      {(error.stack || error.cause || (error.errors?.length ?? 0) > 0) && (
        <pre class="stacktrace" tabIndex={0}>
          <ErrorFrames error={error} />
        </pre>
      )}
    </section>
  )
}

function title({ name, code, message }: WireError): string {
  return `${name && name !== 'Error' ? `${name}: ` : 'Error: '}${message}${code ? ` (${code})` : ''}`
}

/** The error and the first frames of its stack. */
export function ErrorSample({ error }: { error: WireError }): VNode {
  return (
    <pre class="code sample" tabIndex={0}>
      <span class="said">{title(error)}</span>
      <ErrorFrames error={error} most={3} />
    </pre>
  )
}

const shownFrames = 8

/** The frames of its stack, and what caused it. */
export function ErrorFrames({
  error,
  prefix = '',
  most = shownFrames,
}: {
  error: WireError
  prefix?: string
  most?: number
}): VNode {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s*at /.test(line))
  const shown = frames.slice(0, most).map(frameOf)
  const width = Math.max(0, ...shown.map(({ name }) => name.length))
  const rest = frames.length - most
  return (
    <>
      {prefix && (
        <>
          {prefix} <b>{title(error)}</b>
          {'\n'}
        </>
      )}
      {shown.map(({ name, place, isOwn }, at) => (
        <span key={at} class={isOwn ? 'own' : 'lib'}>
          {`${most === shownFrames ? name.padEnd(width) : name}  ${place}\n`}
        </span>
      ))}
      {rest > 0 && <span class="lib">{`${counted(rest, 'more frame')}\n`}</span>}
      {error.cause && <ErrorFrames error={error.cause} prefix="cause" />}
      {error.errors?.map((one, at) => (
        <ErrorFrames key={at} error={one} prefix={`${at + 1}.`} />
      ))}
    </>
  )
}

/** The function, and the end of the place: the start is the same in every frame. */
function frameOf(line: string): { name: string; place: string; isOwn: boolean } {
  const [, name = 'anonymous', place = ''] = /^\s*at (?:(.+?) \()?(.+?)\)?$/.exec(line) ?? []
  const short = /\/node_modules\//.test(place)
    ? place.replace(/^.*\/node_modules\//, 'node_modules/')
    : place.replace(/^.*[\\/]((?:[^\\/]+[\\/]){2}[^\\/]+)$/, '…/$1')
  return { name: name.slice(0, 22), place: short, isOwn: !/node_modules|node:|\/dist\//.test(line) }
}
