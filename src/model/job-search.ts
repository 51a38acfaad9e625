/** Whether a name holds a text. Only the case of A to Z makes no difference: this way all stores agree. */
export function nameHolds(name: string, text: string): boolean {
  return lowerAscii(name).includes(lowerAscii(text))
}

export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
