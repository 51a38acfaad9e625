/** More questions than these are several calls, which run beside each other. */
const mostAtOnce = 100

/** Makes one call of the questions that are asked at the same moment; answers come in their order. An error is the error of each. */
export function gathered<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let next: { readonly questions: Question[]; readonly answers: Promise<readonly Answer[]> } | null = null
  return async (question) => {
    if (!next || next.questions.length === mostAtOnce) {
      const questions: Question[] = []
      const answers = Promise.resolve().then(() => {
        if (next?.questions === questions) next = null
        return ask(questions)
      })
      next = { questions, answers }
    }
    const { questions, answers } = next
    const at = questions.push(question) - 1
    return (await answers)[at] as Answer
  }
}
