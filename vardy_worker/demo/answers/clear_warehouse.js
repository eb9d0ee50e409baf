async function run(params) {
  const items = await list_warehouse_items();
  for (const item of items) {
    await delete_item({ id: item.id });
  }
  return { deleted: items.length };
}
