import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Button } from './button.tsx'

/** A command of the terminal that does the same, to copy. */
export function Command({ words }: { words: readonly string[] }): VNode {
  const text = words.map(quoted).join(' ')
  return (
    <div class="cmd">
      <code>
        {words.map((word, at) => (
          <>
            {at > 0 && ' '}
            <span class="w">{quoted(word)}</span>
          </>
        ))}
      </code>
      <Copy text={text} />
    </div>
  )
}

export function SameAs({ words }: { words: readonly string[] }): VNode {
  return (
    <div class="field">
      <span class="label">Same as</span>
      <Command words={words} />
    </div>
  )
}

/** Copies a text. Pages without HTTPS have no clipboard API, so the old way is used there. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }): VNode {
  const isDone = useSignal(false)
  const copy = async () => {
    await copyText(text)
    isDone.value = true
    setTimeout(() => {
      isDone.value = false
    }, 1500)
  }
  return (
    <Button
      kind="ghost"
      isSmall
      icon={isDone.value ? 'tick' : 'copy'}
      onClick={() => void copy()}
      {...(label === '' && { label: 'Copy' })}
    >
      {label === '' ? undefined : isDone.value ? 'Copied' : label}
    </Button>
  )
}

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'sr'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/** As a POSIX shell wants it. */
function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return /[$`"\\!]/.test(word) ? `'${word.replaceAll("'", String.raw`'\''`)}'` : `"${word}"`
}
