// Quoted texts and names, and comments: their words are no statements.
const unread = /\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//gi

const control =
  /^(BEGIN|START\s+TRANSACTION|COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!(\s+(WORK|TRANSACTION))?\s+TO\b))\b/i
const ownSavepoint = /^(RELEASE|ROLLBACK)\b.*\bpunctual_work\b/is

/** Whether a text, which may be several statements, begins or ends a transaction. Other savepoints are fine. */
export function controlsTransaction(text: string): boolean {
  return text
    .replace(unread, ' ')
    .split(';')
    .some((statement) => control.test(statement.trim()) || ownSavepoint.test(statement.trim()))
}
