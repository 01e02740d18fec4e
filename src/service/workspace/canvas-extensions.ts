import { sha256 } from '../auth/api-keys.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { listOf, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { matching } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { enabledBody, EXTENSION_NAME, installBody, refreshBody } from '../request-schema.ts'

/** Source of an extension to install. */
export interface ExtensionSource {
  /** Path of a folder inside the folder for Canvas extensions, which the operator sets. */
  readonly source: string
  /** Path of a folder within `source`. Default: `source` itself. */
  readonly repo_path?: string | null | undefined
}

/** An installed extension. */
export interface Extension {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly enabled: boolean
  readonly source: string
  readonly repo_path: string | null
  readonly installed_at: string
  readonly install_path: string
  /** Content of `canvas-extension.json`; null if the file cannot be read. */
  readonly manifest: JsonObject | null
}

/**
 * Manages the installed extensions. A new extension is disabled. Methods return null or false for an unknown
 * extension.
 * @throws HttpProblem 400 for an invalid source, 422 for an invalid manifest.
 */
export interface CanvasExtensions {
  readonly list: () => Promise<readonly Extension[]>
  readonly find: (name: string) => Promise<Extension | null>
  /** Installs an extension. @throws HttpProblem 409 if it is already installed and `force` is false. */
  readonly install: (source: ExtensionSource, force: boolean) => Promise<Extension>
  readonly setEnabled: (name: string, enabled: boolean) => Promise<boolean>
  readonly uninstall: (name: string) => Promise<boolean>
  /** Copies the source for `apply`. Returns whether the copy is a valid version of the extension. */
  readonly check: (name: string) => Promise<'valid' | 'invalid' | null>
  /** Replaces the extension with the copy that `check` made. @throws HttpProblem 409 without a valid copy. */
  readonly apply: (name: string, enabled: boolean) => Promise<Extension | null>
  readonly read: (name: string, file: 'entrypoint' | 'icon') => Promise<Uint8Array<ArrayBuffer> | null>
}

const BASE = '/api/canvas-extensions'
const operation = operationsIn('Canvas extensions')
const params = { extension_name: matching(EXTENSION_NAME, 'Must be in kebab case') }
const EXTENSION = objectOf({
  name: 'string',
  version: 'string',
  description: 'string',
  enabled: 'boolean',
  source: 'string',
  resolved_ref: 'string?',
  repo_path: 'string?',
  installed_at: 'string',
  install_path: 'string',
  manifest: 'object?',
})
const MESSAGE_SCHEMA = objectOf({ message: 'string' })
const CHECK = objectOf({ requested_ref: 'string?', resolved_ref: 'string?', validated: 'boolean' })
const UNKNOWN = { 404: 'Not installed' }
const INVALID = { 422: 'Invalid manifest' }
const FILES = {
  bundle: ['entrypoint', { 'content-type': 'text/javascript; charset=utf-8' }],
  icon: [
    'icon',
    {
      'content-type': 'image/svg+xml',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
  ],
} as const

const shown = (one: Extension): object => ({ ...one, resolved_ref: null })

function orNotFound<T>(value: T | null): T {
  if (value !== null && value !== false) return value
  throw new HttpProblem(404, 'The Canvas extension is not installed.')
}

export const NO_EXTENSIONS: CanvasExtensions = {
  list: async () => [],
  find: async () => null,
  install: async () => {
    throw new HttpProblem(
      403,
      'This service has no folder for Canvas extensions. Set `canvas_extensions` in serve.json, or pass `canvasExtensions`.',
    )
  },
  setEnabled: async () => false,
  uninstall: async () => false,
  check: async () => null,
  apply: async () => null,
  read: async () => null,
}

const named = <T>(
  method: 'get' | 'post' | 'delete',
  path: string,
  name: string,
  schema: JsonObject,
  find: (name: string) => Promise<T | null>,
  show: (value: T, name: string) => object,
): Operation =>
  operation(`${method} ${BASE}/installed/{extension_name}${path}`, {
    name,
    params,
    returns: schema,
    otherwise: { 400: 'Invalid source', ...UNKNOWN },
    handle: async ({ path: { extension_name: one } }) => show(orNotFound(await find(one)), one),
  })

export const canvasOperations = (extensions: CanvasExtensions): Operation[] => [
  operation(`get ${BASE}/installed`, {
    name: 'list_installed_canvas_extensions_endpoint',
    returns: objectOf({ canvas_extensions: listOf(EXTENSION) }),
    handle: async () => ({ canvas_extensions: (await extensions.list()).map(shown) }),
  }),
  operation(`post ${BASE}/install`, {
    name: 'install_canvas_extension_endpoint',
    body: installBody,
    returns: EXTENSION,
    otherwise: {
      ...INVALID,
      400: 'The folder of extensions does not contain the source',
      403: 'The service has no folder of extensions',
      409: 'Already installed',
    },
    async handle({ body: { ref, force = false, ...source } }) {
      if ((ref ?? null) !== null)
        throw new HttpProblem(
          400,
          'Extensions are installed from folders, which have no versions. Omit `ref`.',
        )
      return shown(await extensions.install(source, force))
    },
  }),
  named('get', '', 'get_installed_canvas_extension_endpoint', EXTENSION, extensions.find, shown),
  named(
    'delete',
    '',
    'uninstall_canvas_extension_endpoint',
    MESSAGE_SCHEMA,
    extensions.uninstall,
    (_, name) => ({ message: `Canvas extension '${name}' uninstalled` }),
  ),
  named('post', '/refresh/check', 'check_canvas_extension_update', CHECK, extensions.check, (result) => ({
    requested_ref: null,
    resolved_ref: null,
    validated: result === 'valid',
  })),
  named(
    'get',
    '/backend',
    'get_canvas_extension_backend_endpoint',
    objectOf({ name: 'string', state: 'string' }),
    // No backend is started.
    async (name) => ((await extensions.find(name)) === null ? 'missing' : 'unsupported'),
    (state, name) => ({ name, state }),
  ),
  operation(`patch ${BASE}/installed/{extension_name}`, {
    name: 'set_canvas_extension_enabled_endpoint',
    params,
    body: enabledBody,
    returns: objectOf({ name: 'string', enabled: 'boolean' }),
    otherwise: UNKNOWN,
    async handle({ path: { extension_name: name }, body: { enabled } }) {
      orNotFound(await extensions.setEnabled(name, enabled))
      return { name, enabled }
    },
  }),
  operation(`post ${BASE}/installed/{extension_name}/refresh/apply`, {
    name: 'apply_canvas_extension_update',
    params,
    body: refreshBody,
    returns: EXTENSION,
    otherwise: { ...INVALID, ...UNKNOWN, 409: 'No update is ready to install' },
    handle: async ({ path, body: { enabled } }) =>
      shown(orNotFound(await extensions.apply(path.extension_name, enabled))),
  }),
  ...(['bundle', 'icon'] as const).map((file) =>
    operation(`get ${BASE}/installed/{extension_name}/${file}`, {
      name: `get_canvas_extension_${file}_endpoint`,
      params,
      returns: 'string',
      mediaType: FILES[file][1]['content-type'],
      otherwise: UNKNOWN,
      async handle({ path }) {
        const [name, headers] = FILES[file]
        const bytes = orNotFound(await extensions.read(path.extension_name, name))
        const hash = await sha256(bytes)
        return new Response(bytes, {
          headers: { ...headers, 'cache-control': 'no-cache', etag: `"${hash}"` },
        })
      },
    }),
  ),
]
