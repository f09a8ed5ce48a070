// The least that can be done: a request becomes a line on an agent's stdin, and what the agent prints is the answer.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'

const agent = spawn(process.argv[2], { stdio: ['pipe', 'pipe', 'inherit'] })
let response
agent.stdout.setEncoding('utf8').on('data', chunk => {
  response?.write(chunk)
  if (chunk.includes('"type":"result"')) response?.end()
})
const server = createServer((request, answer) => {
  let body = ''
  request.setEncoding('utf8').on('data', chunk => {
    body += chunk
  })
  request.on('end', () => {
    response = answer
    const { message } = JSON.parse(body)
    agent.stdin.write(`${JSON.stringify({ type: 'user', message: { role: 'user', content: message } })}\n`)
  })
})
server.listen(0, '127.0.0.1', () => process.send({ url: `http://127.0.0.1:${server.address().port}` }))
process.once('disconnect', () => {
  agent.kill()
  process.exit()
})
