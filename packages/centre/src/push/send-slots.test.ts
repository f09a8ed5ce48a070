import { expect, test } from 'vitest'
import { SendSlots } from './send-slots.ts'

/** Takes a place, and says whether it was given, waits or was refused. */
function asking(slots: SendSlots) {
  const given: string[] = []
  const ends = new Map<string, () => void>()
  const ask = async (name: string, machine?: string) => {
    const end = await slots.take(machine)
    given.push(end === undefined ? `no ${name}` : name)
    if (end !== undefined) ends.set(name, end)
  }
  const end = async (name: string) => {
    ends.get(name)?.()
    await settled()
  }
  return { given, ask: (name: string, machine?: string) => void ask(name, machine), end }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve()
}

test('a machine that asks without end has its share only, and too many of its messages are dropped', async () => {
  const slots = new SendSlots({ all: 3, machine: 2, waiting: 1 })
  const { given, ask, end } = asking(slots)
  for (const name of ['b1', 'b2', 'b3', 'b4']) ask(name, 'b')
  ask('own')
  await settled()
  expect(given.splice(0)).toEqual(['b1', 'b2', 'no b4', 'own'])
  await end('own')
  expect(given).toEqual([])
  await end('b1')
  expect(given).toEqual(['b3'])
})

test('messages of this machine wait instead of being dropped, and go first; the other machines take turns', async () => {
  const slots = new SendSlots({ all: 2, machine: 2, waiting: 5 })
  const { given, ask, end } = asking(slots)
  for (const name of ['b1', 'b2', 'b3', 'b4']) ask(name, 'b')
  ask('c1', 'c')
  for (const name of ['own1', 'own2', 'own3']) ask(name)
  await settled()
  expect(given.splice(0)).toEqual(['b1', 'b2'])
  const order: string[] = ['b1', 'b2']
  for (let i = 0; i < 6; i++) {
    await end(order[i] ?? '')
    order.push(...given.splice(0))
  }
  expect(order.slice(2)).toEqual(['own1', 'own2', 'own3', 'b3', 'c1', 'b4'])
})
