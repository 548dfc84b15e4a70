-- Opens configurations in Neovim, and compares what the editor has then. neovim_test.go runs it after the lines of
-- docs/guide/editors.md that start the server.

vim.cmd("filetype on")

local folder = vim.env.STOPWHEN_FOLDER

local function fail(text)
  io.stderr:write(text .. "\n")
  vim.cmd("cquit 1")
end

local function expect(what, got, want)
  local text = type(got) == "string" and got or vim.inspect(got)
  if not string.find(text, want, 1, true) then
    fail(what .. ": want " .. want .. ", got " .. text)
  end
end

local client

-- open opens a file. The lines of the guide start the server for it.
local function open(name)
  vim.cmd("edit " .. folder .. "/" .. name)
  local ok = vim.wait(5000, function()
    client = vim.tbl_keys(vim.lsp.buf_get_clients(0))[1]
    return client ~= nil and vim.lsp.get_client_by_id(client).initialized ~= nil
  end, 10)
  if not ok then
    fail("the server does not start")
  end
end

local function ask(method, line, character, more)
  local params = vim.tbl_extend("force", {
    textDocument = vim.lsp.util.make_text_document_params(),
    position = { line = line, character = character },
  }, more or {})
  local answers, err = vim.lsp.buf_request_sync(0, method, params, 5000)
  if err or not answers or not answers[client] then
    fail(method .. ": " .. vim.inspect(err or answers))
  end
  return answers[client].result
end

-- diagnosed waits for diagnostics with a text, or for none.
local function diagnosed(want)
  local found
  local ok = vim.wait(5000, function()
    found = vim.diagnostic.get(0)
    if want == nil then
      return #found == 0
    end
    return string.find(vim.inspect(found), want, 1, true) ~= nil
  end, 10)
  if not ok then
    fail("diagnostics: want " .. (want or "none") .. ", got " .. vim.inspect(found))
  end
  return found
end

local function lines() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") end

local ok, err = pcall(function()
  open("users.yaml")
  expect("hover", ask("textDocument/hover", 2, 34), "page size")
  expect("completion", ask("textDocument/completion", 2, 23), "pagenum")
  expect("lens", ask("textDocument/codeLens", 0, 0), "would stop on page 1 of the recording (offset.short)")
  expect("symbols", ask("textDocument/documentSymbol", 0, 0), '"users"')

  -- a mistake that is typed, and its fix
  vim.api.nvim_buf_set_text(0, 2, 31, 2, 36, { "limt" })
  diagnosed('unknown key "limt"')
  local range = { start = { line = 2, character = 0 }, ["end"] = { line = 2, character = 40 } }
  local actions = ask("textDocument/codeAction", 2, 31, { range = range, context = { diagnostics = {} } })
  expect("code action", actions, "Replace limt by limit")
  vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
  expect("the fixed text", lines(), "limit: 3")
  diagnosed(nil)

  -- a completion that is accepted after characters of two UTF-16 units
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "x-note: '💡💡'", "inputs: {a: {doc: '💡', def}}" })
  local row = vim.api.nvim_buf_line_count(0) - 1
  local items = ask("textDocument/completion", row, 27).items
  expect("completion of a key", items, "default")
  for _, item in ipairs(items) do
    if item.label == "default" then
      vim.lsp.util.apply_text_edits({ item.textEdit }, 0, "utf-16")
    end
  end
  expect("the completed text", lines(), "inputs: {a: {doc: '💡', default: }}")

  -- renaming a job
  vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", 5, 9, { newName = "people" }), "utf-16")
  expect("the renamed job", lines(), "- id: people")
  expect("the renamed job in a test", lines(), "job: people")
  vim.cmd("edit!")

  open("broken.json")
  diagnosed("not valid JSON")
  expect("symbols of a broken text", ask("textDocument/documentSymbol", 0, 0), '"baseUrl"')
  expect("completion in a broken text", ask("textDocument/completion", 3, 22), '"limit": ')
  vim.lsp.buf_request_sync(0, "shutdown", nil, 2000)
end)
if not ok then
  fail(tostring(err))
end
io.stdout:write("all is well\n")
vim.cmd("qall!")
