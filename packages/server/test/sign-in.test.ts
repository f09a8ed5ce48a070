import { expect, test } from 'vitest'
import { startTestServer } from './support/test-server.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

function secretOf(link: string): string {
  return new URL(link).hash.replace('#sign-in=', '')
}

test('the secret of the link is traded for the token, once', async () => {
  const server = await startTestServer()
  const body = JSON.stringify({ secret: secretOf(server.link) })
  const signIn = () => fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  const first = await signIn()
  expect([first.status, await first.json()]).toEqual([200, { token: server.token }])
  const second = await signIn()
  expect(second.status).toBe(401)
  expect(await second.text()).not.toContain(server.token)
})

test('whoever is in can make another link', async () => {
  const server = await startTestServer()
  const made = await server.post('/trpc/system.newSignInLink', undefined)
  const { result } = (await made.json()) as { result: { data: { url: string } } }
  const body = JSON.stringify({ secret: secretOf(result.data.url) })
  const signedIn = await fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  expect(await signedIn.json()).toEqual({ token: server.token })
})

test('guessing is slowed down', async () => {
  const server = await startTestServer()
  const guess = () =>
    fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body: '{"secret":"x"}' })
  const statuses = []
  for (let i = 0; i < 30; i += 1) statuses.push((await guess()).status)
  expect(statuses.filter(status => status === 401).length).toBeLessThan(30)
  expect(statuses.at(-1)).toBe(429)
  // Whoever floods does not keep the user out.
  const body = JSON.stringify({ secret: secretOf(server.link) })
  const signedIn = await fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  expect(signedIn.status).toBe(200)
})

test('of many that use a link at the same moment one gets in', async () => {
  const server = await startTestServer()
  const body = JSON.stringify({ secret: secretOf(server.link) })
  const signIn = () => fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  const responses = await Promise.all(Array.from({ length: 20 }, signIn))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(401)])
})

test.each([
  ['', 400],
  ['{', 400],
  ['[]', 400],
  ['{"secret":1}', 400],
  ['{"secret":"x","more":1}', 400],
  [`{"secret":"${'x'.repeat(2000)}"}`, 413],
])('a body of %s is refused with %i', async (body, status) => {
  const server = await startTestServer()
  const response = await fetch(`${server.url}/api/sign-in`, { method: 'POST', headers: JSON_TYPE, body })
  expect(response.status).toBe(status)
})
