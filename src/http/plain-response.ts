// Answers whose text is at hand. On Node.js it is written at once: to read it back from a Response takes longer than most calls.

const texts = new WeakMap<Response, string>()

export function plainResponse(text: string, init: ResponseInit): Response {
  const response = new Response(text, init)
  texts.set(response, text)
  return response
}

/** The text of an answer that was made here. */
export function textOf(response: Response): string | undefined {
  return texts.get(response)
}
