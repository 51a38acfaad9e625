import { effect, type Signal, signal } from '@preact/signals'

/** A choice among words that this browser remembers. */
export function stored<Word extends string>(name: string, words: readonly Word[], fallback: Word): Signal<Word> {
  const key = `punctual.${name}`
  const found = words.find((word) => word === read(key)) ?? fallback
  const choice = signal<Word>(found)
  effect(() => write(key, choice.value))
  return choice
}

/** A list that this browser remembers; what is no item of it is left out. */
export function storedList<Item>(name: string, isItem: (one: object) => one is Item & object): Signal<readonly Item[]> {
  const key = `punctual.${name}`
  const list = signal<readonly Item[]>(parsedList(read(key)).filter(isItem))
  effect(() => write(key, JSON.stringify(list.value)))
  return list
}

function parsedList(text: string | null): readonly object[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(list) ? list.filter((one) => typeof one === 'object' && one !== null) : []
  } catch {
    return []
  }
}

// Browsers that forbid storage throw at the first touch.
function read(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {
    // The choice then lasts as long as the page.
  }
}
