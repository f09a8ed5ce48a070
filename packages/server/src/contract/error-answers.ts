import { z } from 'zod'

/** How every route refuses. */
export const errorAnswer = z
  .strictObject({
    error: z.strictObject({
      code: z.string().describe('Stays the same from version to version.'),
      message: z.string().describe('For people.'),
    }),
  })
  .meta({ id: 'Error' })

/** How a procedure refuses over HTTP. */
export const callErrorAnswer = z
  .strictObject({
    error: z.strictObject({
      message: z.string().describe('For people.'),
      code: z.int().describe('The number that JSON-RPC has for `data.code`.'),
      data: z.strictObject({
        code: z.string().describe('The kind of error, as tRPC names it.'),
        httpStatus: z.int(),
        path: z.string().optional().describe('The procedure.'),
        reason: z.string().nullable().describe('Stays the same from version to version.'),
      }),
    }),
  })
  .meta({ id: 'CallError' })

/** How JSON-RPC refuses a message that it does not read. */
export const rpcErrorAnswer = z.strictObject({
  jsonrpc: z.literal('2.0'),
  error: z.looseObject({ code: z.int(), message: z.string() }),
  id: z.null(),
})
