import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * Sends requests one behind the other without waiting for each answer, so that hundreds of thousands take seconds. An answer is
 * its status and the code of its error, as `403 host`. One that has no end (a stream, a socket) is an error: whoever sends here
 * expects to be refused, or to be answered at once.
 */
export async function pipeline(port: number, requests: readonly string[]): Promise<string[]> {
  const answers: string[] = []
  while (answers.length < requests.length) {
    const before = answers.length
    await converse(port, requests, answers)
    if (answers.length === before) throw new Error(`Closed without an answer to ${requests[before]}`)
  }
  return answers
}

/** Until all are answered, or the server closes: it does where a body was not there yet when it refused. */
async function converse(port: number, requests: readonly string[], answers: string[]): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const closed = once(socket, 'close')
  const reader = new AnswerReader()
  let asked = answers.length
  const ask = () => {
    const next = requests.slice(asked, asked + AT_ONCE)
    asked += next.length
    if (next.length > 0) socket.write(next.join(''))
    else socket.end()
  }
  socket.on('data', (chunk: Buffer) => {
    try {
      answers.push(...reader.push(chunk))
    } catch (error) {
      socket.destroy(error as Error)
    }
    if (answers.length === asked) ask()
  })
  ask()
  await closed
}

/** Few enough to come in one read, mostly. */
const AT_ONCE = 64

class AnswerReader {
  #rest = ''

  push(chunk: Buffer): string[] {
    const text = this.#rest + chunk.toString('latin1')
    const answers: string[] = []
    let position = 0
    for (;;) {
      const headEnd = text.indexOf('\r\n\r\n', position)
      if (headEnd === -1) break
      const head = text.slice(position, headEnd)
      const end = headEnd + 4 + bodyLength(head)
      if (end > text.length) break
      answers.push(answerOf(head, text.slice(headEnd + 4, end)))
      position = end
    }
    this.#rest = text.slice(position)
    return answers
  }
}

function bodyLength(head: string): number {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`An answer without an end: ${head}`)
  return Number(length)
}

function answerOf(head: string, body: string): string {
  const status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)
  const code = /^\{"error":\{"code":"([^"]+)"/.exec(body)?.[1]
  return code === undefined ? status : `${status} ${code}`
}
