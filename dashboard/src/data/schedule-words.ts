/** The schedule in words, without the zone, which stands beside it. */
export function wordsOf({ words, timezone }: { readonly words: string; readonly timezone: string | null }): string {
  const zone = ` (${timezone ?? 'UTC'})`
  return plainWords(words.endsWith(zone) ? words.slice(0, -zone.length) : words)
}

const plainer: readonly (readonly [RegExp, string])[] = [
  [/^At (\d\d:\d\d(?:(?:, \d\d:\d\d)*,? and \d\d:\d\d)?)$/, 'Every day at $1'],
  [/^At (\d+) minutes past the hour$/, 'Every hour at minute $1'],
  [/^At (\d+) minutes past the hour, every (\d+) hours$/, 'Every $2 hours at minute $1'],
  [/^Every (\d+) minutes, starting at (\d+) minutes past the hour$/, 'Every $1 minutes from minute $2'],
  [/^On the hour, every (\d+) hours, starting at (\d\d:\d\d)$/, 'Every $1 hours from $2'],
]

/** The most usual schedules as people say them. */
function plainWords(words: string): string {
  return plainer.reduce((text, [form, to]) => text.replace(form, to), words)
}
