/** The end of a text that was cut. */
const cutMark = '… [cut]'

/** The text as every store can hold it: PostgreSQL takes no NUL. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '')
}

/** The text, or as much of its beginning as fits with the mark behind it. */
export function cut(text: string, max: number, mark = cutMark): string {
  return text.length > max ? `${text.slice(0, max - mark.length).toWellFormed()}${mark}` : text
}
