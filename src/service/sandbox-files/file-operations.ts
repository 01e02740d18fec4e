import { listOf, objectOf, operation, type Operation, pageOfSchema } from '../http/operation.ts'
import { boolean, integer, optional, text, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { MAX_BYTES, REFUSED, requireFiles, type SandboxFiles } from './contract.ts'

const tag = 'Files'
const string = { type: 'string' } as const
const LOCATIONS = listOf(objectOf({ label: string, path: string }))

export const fileOperations = (files: SandboxFiles | null): Operation[] => [
  operation(
    'get /api/file/home',
    {
      name: 'get_home_directory',
      tag,
      query: { include_hidden: withDefault(boolean(), false) },
      replies: {
        200: {
          description: 'The folder of the sandboxes; only a name if their files are not served',
          schema: objectOf({ home: string, favorites: LOCATIONS, locations: LOCATIONS }),
        },
      },
    },
    () => ({ body: { home: files?.home ?? 'workspace', favorites: [], locations: [] } }),
  ),
  operation(
    'get /api/file/search_subdirs',
    {
      name: 'search_subdirs',
      tag,
      query: {
        path: text(),
        page_id: optional(text()),
        limit: withDefault(integer({ min: 1, max: 100 }), 100),
        include_hidden: withDefault(boolean(), false),
      },
      replies: {
        200: {
          description: 'Folders by name; `page_id` is the last name of the previous page',
          schema: pageOfSchema(objectOf({ name: string, path: string })),
        },
        ...REFUSED,
      },
    },
    async ({ query: { path, page_id: after, limit, include_hidden: hidden } }) => {
      const all = (await requireFiles(files).list(path)).filter(
        ({ name, is_directory }) =>
          is_directory && (hidden || !name.startsWith('.')) && (after === null || name > after),
      )
      const items = all.slice(0, limit).map(({ name, path: full }) => ({ name, path: full }))
      return { body: { items, next_page_id: all.length > limit ? (items.at(-1)?.name ?? null) : null } }
    },
  ),
  operation(
    'get /api/file/download',
    {
      name: 'download_file',
      tag,
      query: { path: text() },
      replies: {
        200: { description: 'Its bytes', mediaType: 'application/octet-stream', schema: string },
        ...REFUSED,
        413: { description: 'It is too large' },
      },
    },
    async ({ query }) =>
      new Response(await requireFiles(files).read(query.path, MAX_BYTES), {
        // Browsers must not render files of a sandbox as pages.
        headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' },
      }),
  ),
  operation(
    'post /api/file/upload',
    {
      name: 'upload_file',
      tag,
      summary: 'Upload File (a form with one `file`)',
      query: { path: text() },
      replies: {
        200: {
          description: 'Stored',
          schema: objectOf({ success: { type: 'boolean' }, file_size: { type: 'integer' } }),
        },
        ...REFUSED,
        413: { description: 'It is too large' },
        507: { description: 'The disk is full' },
      },
    },
    async ({ query, request }) => {
      const available = requireFiles(files)
      const file = await fileOf(request)
      return { body: { success: true, file_size: await available.write(query.path, file) } }
    },
  ),
]

/**
 * The file of a form.
 * @throws HttpProblem 400 for any other body, 413 for one that is too large.
 */
async function fileOf(request: Request): Promise<Uint8Array> {
  const bytes = await readAll(request)
  const form = await new Response(bytes, {
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
  })
    .formData()
    .catch(() => null)
  const file = form?.get('file') ?? null
  if (file === null || typeof file === 'string')
    throw new HttpProblem(400, 'The body must be a form with a field `file`.')
  return new Uint8Array(await file.arrayBuffer())
}

async function readAll(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let size = 0
  const reader = request.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read().catch(() => {
      throw new HttpProblem(400, 'The request body is incomplete. Send it again.')
    })) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    size += value.byteLength
    if (size > MAX_BYTES) {
      void reader?.cancel().catch(() => undefined)
      throw new HttpProblem(413, `The body is larger than ${MAX_BYTES} bytes.`)
    }
    parts.push(value)
  }
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const part of parts) {
    bytes.set(part, offset)
    offset += part.byteLength
  }
  return bytes
}
