// @ts-check
import { Socket } from 'node:net'

/** The socket to the server that started this process. A server that has exited leaves it closed. */
export function serverChannel() {
  const channel = new Socket({ fd: 3, readable: true, writable: true })
  channel.on('error', () => {})
  return channel
}

/**
 * Reads up to the first `end`, which is part of the text. Rejects if the stream ends before.
 * @param {import('node:stream').Readable} stream
 * @param {string} [end]
 * @returns {Promise<string>}
 */
export function readLine(stream, end = '\n') {
  return new Promise((resolve, reject) => {
    let text = ''
    stream.setEncoding('utf8')
    stream.on('data', chunk => {
      text += chunk
      const at = text.indexOf(end)
      if (at >= 0) resolve(text.slice(0, at + 1))
    })
    stream.once('end', () =>
      reject(new Error('The channel to the server was closed before the plan arrived.')),
    )
    stream.once('error', reject)
  })
}
